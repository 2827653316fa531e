// The interface between nvcc's code and the C++ compiler's. Neither includes the other's headers.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "pipeline/ops/cuda/bodies.h"

namespace millrace::pipeline::cuda {

/// Launches `count` elements into `stream` of the current device.
[[nodiscard]] cudaError_t LaunchInto(cudaStream_t stream, const gpu::Body& body,
                                     std::int64_t count);

/// Success if the current device can run nvcc's kernels; otherwise the error of the CUDA runtime.
[[nodiscard]] cudaError_t AskForKernels();

}  // namespace millrace::pipeline::cuda
