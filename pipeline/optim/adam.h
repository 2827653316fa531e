// Adam and AdamW.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

///   mean   = beta1 mean + (1 - beta1) gradient
///   square = beta2 square + (1 - beta2) gradient^2
///   value  = value - learning_rate mean / (1 - beta1^t) / (sqrt(square / (1 - beta2^t)) + eps)
///
/// Adam first adds weight_decay value to the gradient. AdamW first subtracts learning_rate
/// weight_decay value from the value. Both follow torch.optim. See Optimizer for the rest of the
/// contract.
class Adam final : public Optimizer {
 public:
  Adam(std::vector<at::Tensor> parameters, const OptimizerOptions& options);

 private:
  void Apply(const Batch& batch, double learning_rate) override;
  void ApplyOnDevice(const Batch& batch, const DeviceStep& step) override;
  template <typename Rate>
  void Fused(const Batch& batch, const Rate& rate, const std::optional<at::Tensor>& refused);
  [[nodiscard]] std::vector<std::vector<at::Tensor>*> Lists() override {
    return {&means_, &squares_, &steps_};
  }

  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> squares_;
  std::vector<at::Tensor> steps_;  // t, in the form that the kernels take.
};

}  // namespace millrace::pipeline
