// Puts kernels of our own into the streams of a GPU. What can is not linked: LibTorch's part for
// CUDA brings it along when it is loaded (stage_devices.h), if the program was built where there is
// a CUDA toolkit.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "pipeline/ops/cuda/bodies.h"

namespace millrace::pipeline::gpu {

/// Who launches.
struct Kernels {
  /// Puts a body's elements from 0 to `count` into the current stream of the thread that calls.
  /// Throws what the GPU says.
  void (*launch)(const Body& body, std::int64_t count, at::Device device);
  /// Whether they were compiled for such a GPU. Throws what the GPU says, if that is another thing.
  bool (*run_on)(at::Device device);
};

/// Says who launches, for the rest of the program; or that nobody does, and why. Thread-safe.
void SetKernels(const Kernels* kernels);
void SetNoKernels(std::string why);

/// Whether Launch() may be called, on maps of at most so many numbers. Throws as Kernels::run_on.
/// Thread-safe.
[[nodiscard]] bool HasKernels(at::Device device, std::int64_t most_numbers = 0);
/// Why the device has none; empty where it has. Throws likewise. Thread-safe.
[[nodiscard]] std::string WhyNoKernels(at::Device device);

/// As Kernels::launch. REQUIRES: HasKernels() for as many numbers as there are, and all that the
/// body points to is there.
void Launch(const Body& body, std::int64_t count, at::Device device);

/// A number as kernels count. REQUIRES: HasKernels() for so many.
[[nodiscard]] Index Narrow(std::int64_t count);

/// While it lives, nobody launches, for tests. Not thread-safe.
class WithoutKernels {
 public:
  WithoutKernels();
  ~WithoutKernels();
  WithoutKernels(const WithoutKernels&) = delete;
  WithoutKernels& operator=(const WithoutKernels&) = delete;

 private:
  const Kernels* const kernels_;
};

}  // namespace millrace::pipeline::gpu
