#include "pipeline/rmsprop.h"

#include <limits>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr double kDecay = 0.99;
constexpr double kEpsilon = 1e-8;

bool AllFinite(const std::vector<at::Tensor>& tensors) {
  // The largest magnitude, unlike a sum, cannot overflow where every value is finite.
  const auto magnitudes = at::_foreach_norm(tensors, std::numeric_limits<double>::infinity());
  return at::stack(magnitudes).isfinite().all().item<bool>();
}

}  // namespace

RmsProp::RmsProp(std::vector<at::Tensor> parameters, double learning_rate)
    : learning_rate_(learning_rate), parameters_(std::move(parameters)) {
  for (const at::Tensor& parameter : parameters_) {
    MILLRACE_CHECK(parameter.is_leaf() && parameter.requires_grad());
    values_.push_back(parameter.variable_data());
    squares_.push_back(at::zeros_like(values_.back()));
  }
}

bool RmsProp::Step() {
  const at::NoGradGuard no_graph;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> squares;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    gradients.push_back(parameters_[i].grad());
    values.push_back(values_[i]);
    squares.push_back(squares_[i]);
  }
  const bool finite = gradients.empty() || AllFinite(gradients);
  if (finite && !gradients.empty()) {
    at::_foreach_mul_(squares, kDecay);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - kDecay);
    const std::vector<at::Tensor> divisors = at::_foreach_sqrt(squares);
    at::_foreach_add_(divisors, kEpsilon);
    at::_foreach_addcdiv_(values, gradients, divisors, -learning_rate_);
  }
  if (!gradients.empty()) at::_foreach_zero_(gradients);
  ++(finite ? updates_ : skipped_);
  return finite;
}

}  // namespace millrace::pipeline
