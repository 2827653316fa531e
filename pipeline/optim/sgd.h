// Stochastic gradient descent: plain, with momentum, with Nesterov's, or with spike compensation.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

///   gradient = gradient + weight_decay value
///   velocity = momentum velocity + gradient
///   value    = value - learning_rate velocity
///
/// Nesterov's: value - learning_rate (gradient + momentum velocity). As torch.optim.SGD; spike
/// compensation as OptimizerOptions has it. See Optimizer for the rest of the contract.
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
  // How much of the velocity and of the gradient a step goes by.
  struct Compensation {
    double velocity = 0;
    double gradient = 0;
  };
  [[nodiscard]] Compensation Compensated() const;
  void ApplyCompensated(const Batch& batch, double learning_rate);
  void ApplyCompensated(const Batch& batch, const DeviceStep& step);

  std::vector<at::Tensor> velocities_;  // None without momentum.
};

}  // namespace millrace::pipeline
