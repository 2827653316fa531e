#include "pipeline/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace millrace::pipeline {

std::optional<double> MostInUse(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<double>(stats.allocated_bytes[kAll].peak);
}

void ResetMostInUse(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

}  // namespace millrace::pipeline
