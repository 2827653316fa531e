#include "pipeline/device/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <set>
#include <string>

#include "pipeline/learner/device_names.h"

namespace millrace::pipeline {
namespace {

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

std::optional<double> PeakBytes(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return static_cast<double>(stats.allocated_bytes[kAll].peak);
}

std::vector<GpuMemory> GpuMemoryOf(const LearnerDescription& learner) {
  std::set<std::string> names;
  for (const StageDescription& stage : learner.stages) names.insert(stage.device);
  std::vector<GpuMemory> memory;
  for (const std::string& name : names) {
    const std::optional<int> number = GpuNumber(name);
    if (!number) continue;
    const auto index = static_cast<at::DeviceIndex>(*number);
    c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(at::kCUDA);
    const auto stats = allocator.getDeviceStats(index);
    const auto [free, total] = allocator.getMemoryInfo(index);
    memory.push_back({.device = name,
                      .allocated_bytes = static_cast<double>(stats.allocated_bytes[kAll].current),
                      .reserved_bytes = static_cast<double>(stats.reserved_bytes[kAll].current),
                      .free_bytes = static_cast<double>(free),
                      .total_bytes = static_cast<double>(total)});
  }
  return memory;
}

void ResetPeakBytes(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

}  // namespace millrace::pipeline
