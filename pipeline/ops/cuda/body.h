// Kernels for GPUs as plain functions: a body does one element's share of the work, and every
// element's is done, in any order and at the same time. nvcc compiles a body for GPUs
// (cuda/kernels.cu); any compiler compiles it for the host, where tests run it.
//
// Maps lie as LibTorch's [n, channels, height, width] do: neighbouring pixels of a channel side by
// side, so neighbouring threads read neighbouring memory.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define MILLRACE_BODY __host__ __device__
#else
#define MILLRACE_BODY
#endif

namespace millrace::pipeline::gpu {

/// Of an element, and of a number in a map: GPUs divide 64 bits slowly.
using Index = std::int32_t;

/// Adds to what other elements add to as well.
#ifdef __CUDA_ARCH__
__device__ inline void AddTo(float* sum, float value) { atomicAdd(sum, value); }
#else
MILLRACE_BODY inline void AddTo(float* sum, float value) { *sum += value; }
#endif

/// Of maps that lie one after the other.
struct MapShape {
  Index channels = 0;
  Index height = 0;
  Index width = 0;

  [[nodiscard]] MILLRACE_BODY Index pixels() const { return height * width; }
  [[nodiscard]] MILLRACE_BODY Index size() const { return channels * pixels(); }
  /// Of the first channel of pixel `i`, as all maps' pixels are counted.
  [[nodiscard]] MILLRACE_BODY Index At(Index i) const {
    return i / pixels() * size() + i % pixels();
  }
  [[nodiscard]] MILLRACE_BODY bool Has(Index y, Index x) const {
    return 0 <= y && y < height && 0 <= x && x < width;
  }
};

}  // namespace millrace::pipeline::gpu
