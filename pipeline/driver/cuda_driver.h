// What this machine has of NVIDIA's: asked of the driver itself, so that a program that was built
// without CUDA can say why it runs on the CPU, and one that was built with it need not load two
// gigabytes of libraries to find out that it has to.
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
    /// Compute capability, as 90 for 9.0.
    int architecture = 0;
  };

  /// The newest CUDA that it serves, as 13000 for 13.0.
  int version = 0;
  /// cuda:0 and on, as CUDA_VISIBLE_DEVICES lets them be seen. Never empty.
  std::vector<Device> devices = {};
};

/// The CUDA that LibTorch was made for.
inline constexpr int kCudaVersion = 13000;

/// Loads the driver, which stays, and asks it. Fails with NOT_FOUND where there is none or no
/// device, with FAILED_PRECONDITION where it is too old, and with UNAVAILABLE where it does not
/// work; each says what to do. `library`: another one, for tests. Thread-safe.
[[nodiscard]] absl::StatusOr<CudaDriver> FindCudaDriver(
    const std::string& library = "libcuda.so.1");

/// "13.0" of 13000.
[[nodiscard]] std::string CudaVersionText(int version);

}  // namespace millrace::pipeline
