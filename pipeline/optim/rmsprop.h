// RMSprop without momentum: the optimizer of a stage that learns from a camera.
//
// Momentum hurts on a stream: its frames are so alike that momentum keeps pushing in the direction
// of the last ones. Division by the size of recent gradients helps.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

///   gradient = gradient + weight_decay value
///   square   = 0.99 square + 0.01 gradient^2
///   value    = value - learning_rate gradient / (sqrt(square) + eps)
///
/// Update clipping (Shazeer and Stern, "Adafactor", ICML 2018, section 6) then divides the update u
/// of each tensor by
///   max(1, RMS(u) / (clip_update learning_rate))
/// RMS is the root mean square over the tensor. Without clipping, the first gradient, or one much
/// larger than earlier gradients, moves the weights ten times as far as a usual one.
///
/// See Optimizer for the rest of the contract.
class RmsProp final : public Optimizer {
 public:
  RmsProp(std::vector<at::Tensor> parameters, const OptimizerOptions& options);

  /// `square` of each parameter, in order. Writing to these tensors restores a state.
  [[nodiscard]] const std::vector<at::Tensor>& squares() const { return squares_; }

 private:
  void Apply(const Batch& batch, double learning_rate) override;
  void ApplyOnDevice(const Batch& batch, const DeviceStep& step) override;
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override { return {&squares_}; }

  std::vector<at::Tensor> squares_;
};

}  // namespace millrace::pipeline
