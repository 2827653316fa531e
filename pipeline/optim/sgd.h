// Stochastic gradient descent: plain, with momentum, with Nesterov momentum, or with spike
// compensation.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

///   gradient = gradient + weight_decay value
///   velocity = momentum velocity + gradient
///   value    = value - learning_rate velocity
///
/// Nesterov: value - learning_rate (gradient + momentum velocity). As torch.optim.SGD; for spike
/// compensation see OptimizerOptions. See Optimizer for the rest of the contract.
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

}  // namespace millrace::pipeline
