// RMSprop without momentum: the optimizer of a stage that learns from a camera.
//
// Momentum hurts on a stream: its frames are so alike that momentum keeps pushing in the direction
// of the last ones. Division by the size of recent gradients helps.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

///   gradient = gradient + weight_decay value
///   square   = 0.99 square + 0.01 gradient^2
///   value    = value - learning_rate gradient / (sqrt(square) + eps)
///
/// See Optimizer for the rest of the contract.
class RmsProp final : public Optimizer {
 public:
  RmsProp(std::vector<at::Tensor> parameters, const OptimizerOptions& options);
  RmsProp(std::vector<at::Tensor> parameters, double learning_rate)
      : RmsProp(std::move(parameters), OptimizerOptions{.learning_rate = learning_rate}) {}

  /// `square` of each parameter, in order. Writing to these tensors restores a state.
  [[nodiscard]] const std::vector<at::Tensor>& squares() const { return squares_; }

 private:
  void Apply(const Batch& batch, double learning_rate) override;
  void ApplyOnDevice(const Batch& batch, const DeviceStep& step) override;
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override { return {&squares_}; }

  std::vector<at::Tensor> squares_;
};

}  // namespace millrace::pipeline
