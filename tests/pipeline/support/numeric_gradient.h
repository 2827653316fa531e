// The expected gradient, by the slow and sure method of finite differences.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

namespace millrace::pipeline {

/// The gradient of a scalar function at `point` (float64, contiguous) by central differences of
/// `step` to both sides: longer ones for functions that count in float32.
inline at::Tensor NumericGradient(const std::function<at::Tensor(const at::Tensor&)>& function,
                                  const at::Tensor& point, double step = 1e-6) {
  const at::NoGradGuard no_graph;
  at::Tensor moved = point.detach().clone();
  at::Tensor gradient = at::empty_like(moved);
  for (std::int64_t i = 0; i < moved.numel(); ++i) {
    double& value = moved.mutable_data_ptr<double>()[i];
    const double before = value;
    value = before + step;
    const double above = function(moved).item<double>();
    value = before - step;
    const double below = function(moved).item<double>();
    value = before;
    gradient.mutable_data_ptr<double>()[i] = (above - below) / (2 * step);
  }
  return gradient;
}

/// The gradient of a scalar function at `point` by autograd.
inline at::Tensor AutogradGradient(const std::function<at::Tensor(const at::Tensor&)>& function,
                                   const at::Tensor& point) {
  const at::Tensor leaf = point.detach().clone().set_requires_grad(true);
  function(leaf).backward();
  return leaf.grad();
}

}  // namespace millrace::pipeline
