// Puts kernels of our own into the streams of a GPU. What can is not linked: LibTorch's part for
// CUDA brings it along when it is loaded (stage_devices.h), if the program was built where there is
// a CUDA toolkit.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "pipeline/gpu/bodies.h"

namespace millrace::pipeline::gpu {

/// Who launches.
struct Kernels {
  /// Puts a body's elements from 0 to `count` into the current stream of the thread that calls.
  /// Throws what the GPU says.
  void (*launch)(const Body& body, std::int64_t count, at::Device device);
  /// Whether they were compiled for such a GPU.
  bool (*run_on)(at::Device device);
};

/// Says who launches; nullptr: nobody. It outlives the program. Returns who did. Thread-safe.
const Kernels* SetKernels(const Kernels* kernels);

/// Whether Launch() may be called. Thread-safe.
[[nodiscard]] bool HasKernels(at::Device device);

/// As Kernels::launch. REQUIRES: HasKernels(device), all that the body points to is there, and
/// an Index counts it.
void Launch(const Body& body, std::int64_t count, at::Device device);

}  // namespace millrace::pipeline::gpu
