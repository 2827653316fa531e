// GPU kernels as plain functions. A body does the work of one element; the elements run in any
// order, also concurrently. nvcc compiles a body for GPUs (cuda/kernels.cu). Any compiler compiles
// it for the host, where tests run it.
//
// Maps have LibTorch's layout [n, channels, height, width]: neighbouring pixels of a channel are
// adjacent, so neighbouring threads read neighbouring memory.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define MILLRACE_BODY __host__ __device__
#else
#define MILLRACE_BODY
#endif

namespace millrace::pipeline::gpu {

/// Counts elements and positions in a map; 32 bits, because GPUs divide 64 bits slowly.
using Index = std::int32_t;

/// Adds to a sum that other elements add to concurrently.
#ifdef __CUDA_ARCH__
__device__ inline void AddTo(float* sum, float value) { atomicAdd(sum, value); }
#else
MILLRACE_BODY inline void AddTo(float* sum, float value) { *sum += value; }
#endif

/// The shape of maps that are stored one after the other.
struct MapShape {
  Index channels = 0;
  Index height = 0;
  Index width = 0;

  [[nodiscard]] MILLRACE_BODY Index pixels() const { return height * width; }
  [[nodiscard]] MILLRACE_BODY Index size() const { return channels * pixels(); }
  /// The position of the first channel of pixel `i`, counting the pixels of all maps.
  [[nodiscard]] MILLRACE_BODY Index At(Index i) const {
    return i / pixels() * size() + i % pixels();
  }
  [[nodiscard]] MILLRACE_BODY bool Has(Index y, Index x) const {
    return 0 <= y && y < height && 0 <= x && x < width;
  }
};

}  // namespace millrace::pipeline::gpu
