// The names of devices. Free of LibTorch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"

namespace millrace::pipeline {

/// The number of the GPU called "cuda" (the first) or "cuda:0" and on; nullopt if `name` is no GPU.
inline std::optional<int> GpuNumber(const std::string& name) {
  constexpr std::string_view kPrefix = "cuda:";
  constexpr int kMax = 127;  // The limit of LibTorch.
  int number = 0;
  if (name == "cuda") return 0;
  if (!name.starts_with(kPrefix) || !absl::SimpleAtoi(name.substr(kPrefix.size()), &number) ||
      number < 0 || number > kMax) {
    return std::nullopt;
  }
  return number;
}

}  // namespace millrace::pipeline
