#include "pipeline/optim/device_step.h"

#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace millrace::pipeline {
namespace {

// NaN, if a value is NaN.
at::Tensor LargestOf(const std::vector<at::Tensor>& tensors) {
  return at::stack(at::_foreach_norm(tensors, std::numeric_limits<double>::infinity())).max();
}

}  // namespace

DeviceStep::DeviceStep(at::Device device)
    : rate_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))),
      refused_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))),
      is_refused_(at::zeros({}, at::TensorOptions(device).dtype(at::kBool))),
      refusals_(at::zeros({}, at::TensorOptions(device).dtype(at::kLong))) {}

void DeviceStep::Check(const std::vector<at::Tensor>& gradients,
                       const std::vector<at::Tensor>& values, int exponent) {
  const double limit = std::ldexp(1.0, exponent);
  is_refused_.copy_(
      (LargestOf(gradients) < limit).logical_and(LargestOf(values) < limit).logical_not());
  refused_.copy_(is_refused_);
  refusals_.add_(is_refused_);
}

at::Tensor DeviceStep::Unless(double value, double otherwise) const {
  return at::where(is_refused_, otherwise, value);
}

at::Tensor DeviceStep::RateUnless() const { return at::where(is_refused_, 0.0, rate_); }

void DeviceStep::UndoIfRefused(const at::Tensor& tensor, const at::Tensor& before) const {
  tensor.copy_(at::where(is_refused_, before, tensor));
}

void DeviceStep::ClearRefused(const std::vector<at::Tensor>& gradients) const {
  for (const at::Tensor& gradient : gradients) gradient.masked_fill_(is_refused_, 0);
}

}  // namespace millrace::pipeline
