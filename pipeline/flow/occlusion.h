// Finds the pixels of one picture that are visible in the other.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// For flows [2, 2, height, width] in both directions: whether the way there and back ends at its
/// start. The result is bool [2, 1, height, width], without a graph. A pixel is visible if
///
///   |F(x) + G(x + F(x))|^2 <= 0.01 (|F(x)|^2 + |G(x + F(x))|^2) + 0.5,
///
/// where G is the other flow (Sundaram, Brox and Keutzer, ECCV 2010; Meister et al., UnFlow, 2018).
[[nodiscard]] at::Tensor VisibleMask(const at::Tensor& flows);

}  // namespace millrace::pipeline
