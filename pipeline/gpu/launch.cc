#include "pipeline/gpu/launch.h"

#include <atomic>
#include <limits>

#include "base/check.h"

namespace millrace::pipeline::gpu {
namespace {

std::atomic<const Kernels*>& Here() {
  static std::atomic<const Kernels*> here = nullptr;
  return here;
}

}  // namespace

const Kernels* SetKernels(const Kernels* kernels) { return Here().exchange(kernels); }

bool HasKernels(at::Device device) {
  if (device.is_cpu()) return false;
  const Kernels* const kernels = Here();
  return kernels != nullptr && kernels->run_on(device);
}

void Launch(const Body& body, std::int64_t count, at::Device device) {
  const Kernels* const kernels = Here();
  MILLRACE_CHECK(kernels != nullptr && !device.is_cpu());
  MILLRACE_CHECK(count <= std::numeric_limits<Index>::max());
  if (count > 0) kernels->launch(body, count, device);
}

}  // namespace millrace::pipeline::gpu
