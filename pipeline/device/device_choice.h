// Chooses the devices to compute on, if the user left the choice open.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

struct DeviceChoice {
  /// In the form of FindDevices().
  std::vector<std::string> names = {};
  /// A description for the log: "cuda:0, NVIDIA H100 80GB HBM3", "the CPU, as there is no NVIDIA
  /// driver (libcuda.so.1)". Says why the first GPU has no kernels of our own, if so.
  /// Empty if the user asked only for the CPU.
  std::string where = {};
};

/// Returns `names`. If the only name is "auto", returns the first GPU if it works, else the CPU.
/// Fails as FindDevices(), and like it must precede all other calls of LibTorch.
[[nodiscard]] absl::StatusOr<DeviceChoice> ChooseDevices(const std::vector<std::string>& names);

}  // namespace millrace::pipeline
