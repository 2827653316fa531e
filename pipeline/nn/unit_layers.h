// What convolutional networks are made of.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// A convolution that keeps the size but for its stride, what normalises it and its activation. Not
/// thread-safe.
class ConvolutionUnit {
 public:
  enum class Activation { kNone, kRelu, kLeakyRelu };
  struct Options {
    int inputs = 1;
    int outputs = 1;
    int kernel = 3;
    int stride = 1;
    /// By the mean and variance over space of the one sample, in place of a bias.
    bool normalized = false;
    Activation activation = Activation::kRelu;
    /// Of kLeakyRelu, below zero.
    double slope = 0.01;
    /// All weights are zero: what it makes is, until it learns.
    bool zero = false;
  };

  /// Draws the weights so that a ReLU keeps the variance.
  ConvolutionUnit(const Options& options, at::Generator& random);

  [[nodiscard]] at::Tensor Forward(const at::Tensor& values) const;
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  Options options_;
  std::vector<at::Tensor> parameters_;  // Weight and bias; or weight, scale and shift.
};

/// Gives a layer its name.
class NamedLayer : public Layer {
 public:
  explicit NamedLayer(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  const std::string name_;
};

/// A unit that may send its output on as a skip, too.
class ConvolutionLayer final : public NamedLayer {
 public:
  ConvolutionLayer(std::string name, ConvolutionUnit unit, bool has_skip = false)
      : NamedLayer(std::move(name)), unit_(std::move(unit)), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override;
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return unit_.parameters(); }

 private:
  const ConvolutionUnit unit_;
  const bool has_skip_;
};

/// A function without parameters, such as pooling.
class FunctionLayer final : public NamedLayer {
 public:
  using Function = std::function<at::Tensor(const LayerValues&)>;

  FunctionLayer(std::string name, Function function)
      : NamedLayer(std::move(name)), function_(std::move(function)) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {function_(inputs), {}};
  }

 private:
  const Function function_;
};

/// The largest of each `kernel` x `kernel` pixels, of every second one.
[[nodiscard]] FunctionLayer::Function MaxPooling(int kernel);

}  // namespace millrace::pipeline
