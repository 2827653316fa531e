#include "pipeline/gpu/launch.h"

#include <atomic>
#include <limits>

#include "base/check.h"

namespace millrace::pipeline::gpu {
namespace {

std::atomic<LaunchBody>& Launcher() {
  static std::atomic<LaunchBody> launcher = nullptr;
  return launcher;
}

}  // namespace

LaunchBody SetLauncher(LaunchBody launch) { return Launcher().exchange(launch); }

bool HasKernels(at::Device device) { return !device.is_cpu() && Launcher() != nullptr; }

void Launch(const Body& body, std::int64_t count, at::Device device) {
  const LaunchBody launch = Launcher();
  MILLRACE_CHECK(launch != nullptr && !device.is_cpu());
  MILLRACE_CHECK(count <= std::numeric_limits<Index>::max());
  if (count > 0) launch(body, count, device);
}

}  // namespace millrace::pipeline::gpu
