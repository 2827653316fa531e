// Adam and AdamW, as torch.optim:
//
//   mean   = beta1 mean + (1 - beta1) gradient
//   square = beta2 square + (1 - beta2) gradient^2
//   value  = value - learning_rate mean / (1 - beta1^t) / (sqrt(square / (1 - beta2^t)) + eps)
//
// Adam first adds weight_decay value to the gradient. AdamW first subtracts learning_rate
// weight_decay value from the value.
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(std::vector<at::Tensor> parameters, const OptimizerOptions& options);

 private:
  void Apply(const Batch& batch, double learning_rate) override {
    Fused(batch, learning_rate, std::nullopt);
  }
  void ApplyOnDevice(const Batch& batch, const DeviceStep& step) override {
    Fused(batch, step.rate(), step.refused());
  }
  template <typename Rate>
  void Fused(const Batch& batch, const Rate& rate, const std::optional<at::Tensor>& refused);
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override {
    return {&means_, &squares_, &steps_};
  }

  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> squares_;
  std::vector<at::Tensor> steps_;  // t, in the form that the kernels take.
};

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

}  // namespace

std::unique_ptr<Optimizer> MakeAdam(std::vector<at::Tensor> parameters,
                                    const OptimizerOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options);
}

std::unique_ptr<Optimizer> MakeAdamW(std::vector<at::Tensor> parameters,
                                     const OptimizerOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options);
}

}  // namespace millrace::pipeline
