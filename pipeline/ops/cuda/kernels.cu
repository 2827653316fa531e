// Bodies (body.h) as kernels, with one thread per element.
#include "pipeline/ops/cuda/kernels.h"

#include <variant>

namespace millrace::pipeline::cuda {
namespace {

// Maps are small: fewer threads per block use more of the GPU's multiprocessors.
constexpr int kThreads = 128;

template <typename Body>
__global__ void DoEach(Body body, gpu::Index count) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;  // May exceed an Index in the last block.
  if (i < static_cast<unsigned>(count)) body(static_cast<gpu::Index>(i));
}

}  // namespace

// Clears the error of a missing kernel, or the next call would report it.
cudaError_t AskForKernels() {
  cudaFuncAttributes attributes;
  const cudaError_t answer = cudaFuncGetAttributes(&attributes, DoEach<gpu::SumUpBody>);
  if (answer != cudaSuccess) static_cast<void>(cudaGetLastError());
  return answer;
}

cudaError_t LaunchInto(cudaStream_t stream, const gpu::Body& body, std::int64_t count) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  const auto elements = static_cast<gpu::Index>(count);
  std::visit([&](const auto& one) { DoEach<<<blocks, kThreads, 0, stream>>>(one, elements); },
             body);
  return cudaGetLastError();
}

}  // namespace millrace::pipeline::cuda
