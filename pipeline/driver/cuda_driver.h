// Queries NVIDIA's driver for the GPUs of this machine. So a program built without CUDA can say why
// it runs on the CPU. A program built with CUDA can detect a missing GPU without loading two
// gigabytes of libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

struct CudaDriver {
  struct Device {
    std::string name;
    std::int64_t memory_bytes = 0;
    /// Compute capability: 90 for 9.0.
    int architecture = 0;
  };

  /// The newest CUDA version that it supports: 13000 for 13.0.
  int version = 0;
  /// cuda:0 and on, as CUDA_VISIBLE_DEVICES exposes them. Never empty.
  std::vector<Device> devices = {};
};

/// The CUDA version that LibTorch was built for.
inline constexpr int kCudaVersion = 13000;

/// Loads the driver, which stays loaded, and queries it. Fails with NOT_FOUND if there is no driver
/// or device. Fails with FAILED_PRECONDITION if the driver is too old, and with UNAVAILABLE if it
/// does not work. Each message says what to do. `library`: another library, for tests. Thread-safe.
[[nodiscard]] absl::StatusOr<CudaDriver> FindCudaDriver(
    const std::string& library = "libcuda.so.1");

/// "13.0" for 13000.
[[nodiscard]] std::string CudaVersionText(int version);

}  // namespace millrace::pipeline
