// Which pixels of one picture can be seen in the other.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Of flows [2, 2, height, width], one each way: whether the way there and back ends where it
/// began, bool [2, 1, height, width], without a graph. Visible where
///
///   |F(x) + G(x + F(x))|^2 <= 0.01 (|F(x)|^2 + |G(x + F(x))|^2) + 0.5,
///
/// G being the other flow (Sundaram, Brox and Keutzer, ECCV 2010; Meister et al., UnFlow, 2018).
[[nodiscard]] at::Tensor VisibleMask(const at::Tensor& flows);

}  // namespace millrace::pipeline
