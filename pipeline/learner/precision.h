// The number format in which a network computes.
#pragma once

#include <array>
#include <string_view>

namespace millrace::pipeline {

/// kBFloat16: layers on a GPU compute convolutions and products in bfloat16, and the rest as
/// LibTorch's autocast does. Parameters, gradients, layer outputs and losses stay float32. bfloat16
/// has the range of float32, so gradients need no scale. A sample kept for its backward also keeps
/// its forward's weights, in bfloat16. Its backward reads those, even under a schedule whose
/// backward would read the current weights. On the CPU it is the same as kFloat32.
enum class Precision { kFloat32, kBFloat16 };

inline constexpr std::array<std::string_view, 2> kPrecisionNames = {"float32", "bfloat16"};

[[nodiscard]] constexpr std::string_view NameOf(Precision precision) {
  return kPrecisionNames[static_cast<int>(precision)];
}
/// REQUIRES: it is one of the names.
[[nodiscard]] constexpr Precision PrecisionNamed(std::string_view name) {
  return name == NameOf(Precision::kBFloat16) ? Precision::kBFloat16 : Precision::kFloat32;
}

}  // namespace millrace::pipeline
