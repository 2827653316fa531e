// What nvcc compiles, for what the C++ compiler does: neither sees the other's headers.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "pipeline/ops/cuda/bodies.h"

namespace millrace::pipeline::cuda {

/// Puts the elements into `stream`, of the current device.
[[nodiscard]] cudaError_t LaunchInto(cudaStream_t stream, const gpu::Body& body,
                                     std::int64_t count);

/// Success if the current device can run what nvcc has compiled; else what it says.
[[nodiscard]] cudaError_t AskForKernels();

}  // namespace millrace::pipeline::cuda
