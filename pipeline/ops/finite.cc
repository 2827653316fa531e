#include "pipeline/ops/finite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>

#include "pipeline/ops/cpu/kernels.h"

namespace millrace::pipeline {

namespace {

constexpr int kFinite = 128;  // The kernel's value for "finite".

bool Below(const at::Tensor& tensor, int exponent) {
  if (tensor.numel() == 0 || !tensor.is_floating_point()) return true;
  if (tensor.scalar_type() == at::kFloat && tensor.device().is_cpu() &&
      tensor.is_non_overlapping_and_dense()) {
    return kernels::Best().all_below(tensor.const_data_ptr<float>(), tensor.numel(), exponent);
  }
  // Unlike a sum, the largest magnitude cannot overflow if every value is finite.
  const auto magnitude =
      at::linalg_vector_norm(tensor.detach(), std::numeric_limits<double>::infinity())
          .item<double>();
  return exponent == kFinite ? std::isfinite(magnitude) : magnitude < std::ldexp(1.0, exponent);
}

bool AllOf(at::TensorList tensors, int exponent) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& tensor) { return Below(tensor, exponent); });
}

}  // namespace

bool AllFinite(const at::Tensor& tensor) { return Below(tensor, kFinite); }

bool AllFinite(at::TensorList tensors) { return AllOf(tensors, kFinite); }

at::Tensor FiniteFlag(at::TensorList tensors) {
  const at::Device device = tensors.front().device();
  if (device.is_cpu()) return at::scalar_tensor(AllFinite(tensors), at::kBool);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  at::Tensor all = at::ones({}, at::TensorOptions(device).dtype(at::kBool));
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0 || !tensor.is_floating_point()) continue;
    all = all.logical_and(at::linalg_vector_norm(tensor.detach(), kInfinity) < kInfinity);
  }
  return all;
}

bool AllBelow(at::TensorList tensors, int exponent) { return AllOf(tensors, exponent); }

}  // namespace millrace::pipeline
