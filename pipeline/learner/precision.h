// What a network computes in.
#pragma once

#include <array>
#include <string_view>

namespace millrace::pipeline {

/// kBFloat16: layers on a GPU compute their convolutions and products in bfloat16 and the rest as
/// LibTorch's autocast has it; parameters, gradients, what goes from layer to layer and losses stay
/// float32. It has float32's range, so gradients need no scale. Of a sample that is kept for its
/// backward, so are the weights that it was computed with, in bfloat16: its backward reads those of
/// its forward, also under a schedule whose backward would read the current ones. On the CPU it is
/// kFloat32.
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
