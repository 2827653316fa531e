// Stochastic gradient descent: plain, with momentum, with Nesterov momentum (as torch.optim.SGD),
// or with spike compensation (OptimizerOptions):
//
//   gradient = gradient + weight_decay value
//   velocity = momentum velocity + gradient
//   value    = value - learning_rate velocity
//
// Nesterov: value - learning_rate (gradient + momentum velocity).
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_sgd.h>

#include "pipeline/optim/optimizer.h"
#include "pipeline/optim/steps_cuda.h"

namespace millrace::pipeline {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const OptimizerOptions& options);

 private:
  void Apply(const Batch& batch, double learning_rate) override;
  void ApplyOnDevice(const Batch& batch, const DeviceStep& step) override;
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override {
    if (velocities_.empty()) return {};
    return {&velocities_};
  }
  // The factors of the velocity and of the gradient in a step.
  struct Compensation {
    double velocity = 0;
    double gradient = 0;
  };
  [[nodiscard]] Compensation Compensated() const;
  void ApplyCompensated(const Batch& batch, double learning_rate);
  void ApplyCompensated(const Batch& batch, const DeviceStep& step);

  std::vector<at::Tensor> velocities_;  // Empty without momentum.
};

Sgd::Sgd(std::vector<at::Tensor> parameters, const OptimizerOptions& options)
    : Optimizer(std::move(parameters), options) {
  if (options.momentum > 0) velocities_ = Zeros();
}

// Velocities start at zero, so the first step needs no special case.
void Sgd::Apply(const Batch& batch, double learning_rate) {
  if (options().spike_compensation) return ApplyCompensated(batch, learning_rate);
  const auto velocities = velocities_.empty() ? at::TensorList() : at::TensorList(batch.states[0]);
  at::_fused_sgd_(batch.values, batch.gradients, velocities, options().weight_decay,
                  options().momentum, learning_rate, /*dampening=*/0, options().nesterov,
                  /*maximize=*/false, /*is_first_step=*/false);
}

void Sgd::ApplyOnDevice(const Batch& batch, const DeviceStep& step) {
  if (options().spike_compensation) return ApplyCompensated(batch, step);
  const auto velocities = velocities_.empty() ? at::TensorList() : at::TensorList(batch.states[0]);
  at::_fused_sgd_(batch.values, batch.gradients, velocities, options().weight_decay,
                  options().momentum, step.rate(), /*dampening=*/0, options().nesterov,
                  /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/std::nullopt,
                  step.refused());
}

Sgd::Compensation Sgd::Compensated() const {
  const double a = std::pow(options().momentum, delay());
  return {a, (1 - a) / (1 - options().momentum)};
}

void Sgd::ApplyCompensated(const Batch& batch, const DeviceStep& step) {
  const Compensation c = Compensated();
  const std::vector<at::Tensor>& velocities = batch.states[0];
  if (const gpu::StepLists lists{batch.values, batch.gradients, velocities}; gpu::HasSteps(lists)) {
    gpu::LaunchSteps(lists, step, options().weight_decay, [&](const auto& tensors, std::size_t) {
      return gpu::CompensatedSgdBody{.tensors = tensors,
                                     .momentum = static_cast<float>(options().momentum),
                                     .of_velocity = static_cast<float>(c.velocity),
                                     .of_gradient = static_cast<float>(c.gradient)};
    });
    return;
  }
  if (options().weight_decay > 0) {
    at::_foreach_add_(batch.gradients, batch.values, options().weight_decay);
  }
  step.ClearRefused(batch.gradients);
  at::_foreach_mul_(velocities, step.Unless(options().momentum, 1));
  at::_foreach_add_(velocities, batch.gradients);
  at::_foreach_mul_(batch.gradients, c.gradient);
  at::_foreach_add_(batch.gradients, velocities, c.velocity);
  at::_foreach_mul_(batch.gradients, step.RateUnless());
  at::_foreach_sub_(batch.values, batch.gradients);
}

void Sgd::ApplyCompensated(const Batch& batch, double learning_rate) {
  const double m = options().momentum;
  const auto [a, b] = Compensated();
  const std::vector<at::Tensor>& velocities = batch.states[0];
  if (options().weight_decay > 0) {
    at::_foreach_add_(batch.gradients, batch.values, options().weight_decay);
  }
  at::_foreach_mul_(velocities, m);
  at::_foreach_add_(velocities, batch.gradients);
  at::_foreach_add_(batch.values, velocities, -learning_rate * a);
  at::_foreach_add_(batch.values, batch.gradients, -learning_rate * b);
}

}  // namespace

std::unique_ptr<Optimizer> MakeSgd(std::vector<at::Tensor> parameters,
                                   const OptimizerOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace millrace::pipeline
