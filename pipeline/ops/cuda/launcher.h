// Launches our own kernels into the streams of a GPU. The module that launches is not linked. It is
// loaded together with LibTorch's part for CUDA (stage_devices.h), if the build had a CUDA toolkit.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "pipeline/ops/cuda/bodies.h"

namespace millrace::pipeline::gpu {

/// The functions of the loaded module.
struct Kernels {
  /// Launches the elements 0 to `count` - 1 of a body into the current stream of the calling
  /// thread. Throws errors of the GPU.
  void (*launch)(const Body& body, std::int64_t count, at::Device device);
  /// Whether the module was compiled for this kind of GPU. Throws any other error of the GPU.
  bool (*run_on)(at::Device device);
};

/// Registers the module for the whole program, or the reason why there is no module. Thread-safe.
void SetKernels(const Kernels* kernels);
void SetNoKernels(std::string why);

/// Whether Launch() may be called on maps of at most `max_numbers` numbers. Throws as
/// Kernels::run_on. Thread-safe.
[[nodiscard]] bool HasKernels(at::Device device, std::int64_t max_numbers = 0);
/// Why the device has no kernels; empty if it has. Throws likewise. Thread-safe.
[[nodiscard]] std::string WhyNoKernels(at::Device device);

/// See Kernels::launch. REQUIRES: HasKernels() for `count` numbers; the body's pointers are valid.
void Launch(const Body& body, std::int64_t count, at::Device device);

/// `count` as an Index. REQUIRES: HasKernels() for `count` numbers.
[[nodiscard]] Index Narrow(std::int64_t count);

/// Disables all kernels during its lifetime, for tests. Not thread-safe.
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
