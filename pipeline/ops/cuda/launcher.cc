#include "pipeline/ops/cuda/launcher.h"

#include <atomic>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace millrace::pipeline::gpu {
namespace {

// Every operator reads it.
std::atomic<const Kernels*>& Here() {
  static std::atomic<const Kernels*> here = nullptr;
  return here;
}

struct Reason {
  Mutex mu;
  std::string why ABSL_GUARDED_BY(mu) = "LibTorch's part for CUDA is not loaded";
};

Reason& TheReason() {
  static Reason reason;
  return reason;
}

}  // namespace

void SetKernels(const Kernels* kernels) { Here() = kernels; }

void SetNoKernels(std::string why) {
  Here() = nullptr;
  Reason& reason = TheReason();
  const MutexLock lock(reason.mu);
  reason.why = std::move(why);
}

bool HasKernels(at::Device device, std::int64_t max_numbers) {
  if (device.is_cpu() || max_numbers > std::numeric_limits<Index>::max()) return false;
  const Kernels* const kernels = Here();
  return kernels != nullptr && kernels->run_on(device);
}

std::string WhyNoKernels(at::Device device) {
  if (HasKernels(device)) return {};
  if (device.is_cpu()) return "they are for GPUs";
  if (Here() != nullptr) return "they were not compiled for such a GPU";
  Reason& reason = TheReason();
  const MutexLock lock(reason.mu);
  return reason.why;
}

void Launch(const Body& body, std::int64_t count, at::Device device) {
  const Kernels* const kernels = Here();
  MILLRACE_CHECK(kernels != nullptr && !device.is_cpu());
  MILLRACE_CHECK(count <= std::numeric_limits<Index>::max());
  if (count > 0) kernels->launch(body, count, device);
}

Index Narrow(std::int64_t count) {
  MILLRACE_CHECK(count <= std::numeric_limits<Index>::max());
  return static_cast<Index>(count);
}

WithoutKernels::WithoutKernels() : kernels_(Here().exchange(nullptr)) {}
WithoutKernels::~WithoutKernels() { Here() = kernels_; }

}  // namespace millrace::pipeline::gpu
