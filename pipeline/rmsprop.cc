#include "pipeline/rmsprop.h"

#include <utility>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

namespace millrace::pipeline {
namespace {

constexpr double kDecay = 0.99;

}  // namespace

RmsProp::RmsProp(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
    : Optimizer(std::move(parameters), options), squares_(Zeros()) {}

void RmsProp::Apply(const Batch& batch, double learning_rate) {
  const std::vector<at::Tensor>& squares = batch.states[0];
  if (options().weight_decay > 0) {
    at::_foreach_add_(batch.gradients, batch.values, options().weight_decay);
  }
  at::_foreach_mul_(squares, kDecay);
  at::_foreach_addcmul_(squares, batch.gradients, batch.gradients, 1 - kDecay);
  const std::vector<at::Tensor> divisors = at::_foreach_sqrt(squares);
  at::_foreach_add_(divisors, options().eps);
  at::_foreach_addcdiv_(batch.values, batch.gradients, divisors, -learning_rate);
}

}  // namespace millrace::pipeline
