#include "pipeline/ops/weight_gradients.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>

namespace millrace::pipeline {
namespace {

thread_local WeightGradients* in_scope = nullptr;

// As autograd does: the first gradient gets the layout of its parameter, the later ones are added
// in place.
void Accumulate(at::Tensor& parameter, const at::Tensor& gradient) {
  at::Tensor& sum = parameter.mutable_grad();
  if (sum.defined()) {
    sum.add_(gradient);
  } else if (torch::autograd::utils::obeys_layout_contract(gradient, parameter)) {
    sum = gradient;
  } else {
    sum = torch::autograd::utils::clone_obey_contract(gradient, parameter);
  }
}

}  // namespace

WeightGradients::Scope::Scope(WeightGradients* later) : outside_(std::exchange(in_scope, later)) {}

WeightGradients::Scope::~Scope() { in_scope = outside_; }

WeightGradients* WeightGradients::LaterFor(const std::vector<at::Tensor>& parameters) {
  const bool can_wait = std::ranges::all_of(parameters, [](const at::Tensor& parameter) {
    return parameter.is_leaf() && parameter.requires_grad();
  });
  return can_wait ? in_scope : nullptr;
}

void WeightGradients::Leave(std::vector<at::Tensor> parameters, Compute compute) {
  left_.push_back({std::move(parameters), std::move(compute)});
}

void WeightGradients::AddToParameters() const {
  const at::NoGradGuard no_graph;
  for (const Left& left : left_) {
    const std::vector<at::Tensor> gradients = left.compute();
    for (std::size_t i = 0; i < left.parameters.size(); ++i) {
      at::Tensor parameter = left.parameters[i];
      if (gradients[i].defined()) Accumulate(parameter, gradients[i]);
    }
  }
}

}  // namespace millrace::pipeline
