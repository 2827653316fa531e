// The building blocks of convolutional networks.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// A convolution with its normalization and activation. It keeps the size, except for its stride.
/// Not thread-safe.
class ConvolutionUnit {
 public:
  enum class Activation { kNone, kRelu, kLeakyRelu };
  struct Options {
    int inputs = 1;
    int outputs = 1;
    int kernel = 3;
    int stride = 1;
    /// Normalizes by the mean and variance over the space of one sample, instead of a bias.
    bool normalized = false;
    Activation activation = Activation::kRelu;
    /// The factor for negative values of kLeakyRelu.
    double slope = 0.01;
    /// All weights are zero, so the output is zero until the unit learns.
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

/// A layer with a name.
class NamedLayer : public Layer {
 public:
  explicit NamedLayer(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  const std::string name_;
};

/// A unit whose output may also be a skip.
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

/// The maximum of each `kernel` x `kernel` window, with stride 2.
[[nodiscard]] FunctionLayer::Function MaxPooling(int kernel);

}  // namespace millrace::pipeline
