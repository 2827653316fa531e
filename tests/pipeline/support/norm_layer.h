// A layer whose forwards change buffers, not weights: the running averages of a batch
// normalization.
#pragma once

#include <string>

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

inline constexpr int kChannels = 2;
inline constexpr double kMomentum = 0.1;
inline constexpr double kEps = 1e-5;

inline at::Tensor InChannels(const at::Tensor& x) { return x.view({x.size(0), kChannels, -1}); }

// Batch normalization of the eight numbers as two channels, and a count of forwards.
class NormLayer final : public Layer {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    count_.add_(1);
    const at::Tensor made = at::batch_norm(InChannels(inputs.main), weight_, bias_, mean_, var_,
                                           /*training=*/true, kMomentum, kEps, false);
    return {made.view_as(inputs.main), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return {weight_, bias_}; }
  [[nodiscard]] std::vector<at::Tensor> buffers() const override { return {mean_, var_, count_}; }

 private:
  const std::string name_ = "norm";
  const at::Tensor weight_ = at::ones({kChannels}).set_requires_grad(true);
  const at::Tensor bias_ = at::zeros({kChannels}).set_requires_grad(true);
  const at::Tensor mean_ = at::zeros({kChannels});
  const at::Tensor var_ = at::ones({kChannels});
  const at::Tensor count_ = at::zeros({1});
};

}  // namespace millrace::pipeline
