// Launches our own kernels; loaded into programs that have loaded LibTorch's part for CUDA.
#include <array>
#include <limits>
#include <mutex>
#include <optional>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "pipeline/ops/cuda/kernels.h"
#include "pipeline/ops/cuda/launcher.h"

namespace millrace::pipeline::cuda {
namespace {

void Launch(const gpu::Body& body, std::int64_t count, at::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(LaunchInto(c10::cuda::getCurrentCUDAStream(device.index()), body, count));
}

// Whether nvcc compiled no kernel for this kind of GPU, and no PTX could be translated for it.
bool IsAboutItsKind(cudaError_t answer) {
  return answer == cudaErrorNoKernelImageForDevice || answer == cudaErrorInvalidDeviceFunction ||
         answer == cudaErrorUnsupportedPtxVersion || answer == cudaErrorInvalidPtx ||
         answer == cudaErrorInvalidKernelImage || answer == cudaErrorJitCompilerNotFound ||
         answer == cudaErrorJitCompilationDisabled;
}

void ThrowUnlessOk(cudaError_t answer) {
  TORCH_CHECK_WITH(OutOfMemoryError, answer != cudaErrorMemoryAllocation,
                   "a GPU has no memory left for kernels");
  C10_CUDA_CHECK(answer);
}

// Asks each GPU once. Asks again if the answer was an error of another kind.
bool RunOn(at::Device device) {
  static std::mutex mutex;
  static std::array<std::optional<bool>, std::numeric_limits<at::DeviceIndex>::max() + 1> known;
  const std::lock_guard lock(mutex);
  std::optional<bool>& runs = known.at(device.index());
  if (!runs) {
    const c10::cuda::CUDAGuard guard(device);
    const cudaError_t answer = AskForKernels();
    if (!IsAboutItsKind(answer)) ThrowUnlessOk(answer);
    runs = answer == cudaSuccess;
  }
  return *runs;
}

}  // namespace
}  // namespace millrace::pipeline::cuda

extern "C" __attribute__((visibility("default")))
// NOLINTNEXTLINE(readability-identifier-naming): dlsym() finds it by this name.
const millrace::pipeline::gpu::Kernels MillraceCudaKernels;
const millrace::pipeline::gpu::Kernels MillraceCudaKernels = {
    .launch = millrace::pipeline::cuda::Launch, .run_on = millrace::pipeline::cuda::RunOn};
