// A network that is small enough for every schedule: six layers of eight numbers and a skip edge.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>

#include "pipeline/nn/layer.h"
#include "pipeline/ops/split_operators.h"

namespace millrace::pipeline {

inline constexpr int kWidth = 8;

// tanh(W x + b), plus the skips that end here. at::linear() stores a view of the weights.
class SmallLayer final : public Layer {
 public:
  SmallLayer(std::string name, int skips_out, bool splits = false)
      : name_(std::move(name)),
        skips_out_(skips_out),
        splits_(splits),
        weight_((at::randn({kWidth, kWidth}) * 0.4).set_requires_grad(true)),
        bias_((at::randn({kWidth}) * 0.1).set_requires_grad(true)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor made = at::tanh(Linear(inputs.main));
    for (const at::Tensor& skip : inputs.skips) made = made + skip;
    return {made, Tensors(skips_out_, made)};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return {weight_, bias_}; }

 private:
  [[nodiscard]] at::Tensor Linear(const at::Tensor& input) const {
    return splits_ ? SplitLinear(input, weight_, bias_) : at::linear(input, weight_, bias_);
  }

  const std::string name_;
  const int skips_out_;
  const bool splits_;
  const at::Tensor weight_;
  const at::Tensor bias_;
};

inline constexpr int kSmallLayers = 6;

// Always the same weights. The skip goes from the first layer to the last but one.
// `splits`: backwards can be split.
inline LayerChain SmallChain(bool with_skip = true, bool splits = false) {
  at::manual_seed(5);
  LayerChain chain;
  if (with_skip) chain.skips = {{0, kSmallLayers - 2}};
  for (int i = 0; i < kSmallLayers; ++i) {
    chain.layers.push_back(std::make_unique<SmallLayer>("layer " + std::to_string(i),
                                                        with_skip && i == 0 ? 1 : 0, splits));
  }
  return chain;
}

inline LayerChain SplitChain() { return SmallChain(/*with_skip=*/true, /*splits=*/true); }

inline std::vector<at::Tensor> SmallInputs(int samples) {
  at::manual_seed(3);
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < samples; ++i) inputs.push_back(at::randn({1, kWidth}));
  return inputs;
}

// What the network should learn: a shifted, squashed copy of its input.
inline at::Tensor SmallLoss(const at::Tensor& input, const at::Tensor& output) {
  return at::mse_loss(output, at::tanh(input.roll(1, 1)));
}

}  // namespace millrace::pipeline
