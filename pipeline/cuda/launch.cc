// Launches kernels of our own, for programs that have loaded LibTorch's part for CUDA.
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "pipeline/cuda/kernels.h"

// Looked up by name.
extern "C" __attribute__((visibility("default"))) void MillraceLaunchCudaKernel(
    const millrace::pipeline::gpu::Body& body, std::int64_t count, at::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(millrace::pipeline::cuda::LaunchInto(
      c10::cuda::getCurrentCUDAStream(device.index()), body, count));
}
