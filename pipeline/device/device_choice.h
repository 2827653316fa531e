// On what to compute where that is left open.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

struct DeviceChoice {
  /// As DevicesNamed() takes them.
  std::vector<std::string> names = {};
  /// What there is to say of it: "cuda:0, NVIDIA H100 80GB HBM3", "the CPU, as there is no NVIDIA
  /// driver (libcuda.so.1)"; and why the first GPU has no kernels of our own, if it has none.
  /// Empty: nobody asked for anything but the CPU.
  std::string where = {};
};

/// `names` as they are; or, where the only one is "auto", the first GPU if it computes, else the
/// CPU. Fails as DevicesNamed(). To be called before anything of LibTorch's: see there.
[[nodiscard]] absl::StatusOr<DeviceChoice> ChooseDevices(const std::vector<std::string>& names);

}  // namespace millrace::pipeline
