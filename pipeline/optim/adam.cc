#include "pipeline/optim/adam.h"

#include <utility>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>

namespace millrace::pipeline {

Adam::Adam(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
    : Optimizer(std::move(parameters), options), means_(Zeros()), squares_(Zeros()) {
  for (const at::Tensor& mean : means_) {
    steps_.push_back(at::zeros({}, at::TensorOptions(mean.device()).dtype(at::kFloat)));
  }
}

template <typename Rate>
void Adam::Fused(const Batch& batch, const Rate& rate, const std::optional<at::Tensor>& refused) {
  const std::vector<at::Tensor>& means = batch.states[0];
  const std::vector<at::Tensor>& squares = batch.states[1];
  const std::vector<at::Tensor>& steps = batch.states[2];
  at::_foreach_add_(steps, 1);
  const auto fused = [&](auto kernel) {
    kernel(batch.values, batch.gradients, means, squares, /*max_exp_avg_sqs=*/at::TensorList(),
           steps, rate, options().beta1, options().beta2, options().weight_decay, options().eps,
           /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/std::nullopt, refused);
  };
  if (options().kind == OptimizerOptions::Kind::kAdam) {
    fused([](const auto&... arguments) { at::_fused_adam_(arguments...); });
  } else {
    fused([](const auto&... arguments) { at::_fused_adamw_(arguments...); });
  }
  if (refused) at::_foreach_add_(steps, *refused, /*alpha=*/-1);
}

void Adam::Apply(const Batch& batch, double learning_rate) {
  Fused(batch, learning_rate, std::nullopt);
}

void Adam::ApplyOnDevice(const Batch& batch, const DeviceStep& step) {
  Fused(batch, step.rate(), step.refused());
}

}  // namespace millrace::pipeline
