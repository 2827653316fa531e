// A run of 3x3 convolutions: the common part of the flow network's layers.
#pragma once

#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// 3x3 convolutions with bias, each followed by a leaky ReLU.
///
/// Not thread-safe. Owns its parameters: a weight and a bias for each convolution, in order.
class ConvolutionStack {
 public:
  /// The output of one convolution.
  struct Size {
    int channels = 0;
    int stride = 1;
  };

  /// Draws the weights so that leaky ReLUs keep the variance; biases are zero.
  ConvolutionStack(int input_channels, const std::vector<Size>& sizes, at::Generator& random);

  /// Appends a convolution without a ReLU. Its weights are zero, and so is its output at first.
  void AppendZero(int channels);

  [[nodiscard]] at::Tensor Forward(at::Tensor values) const;
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  void Append(at::Tensor weight, int stride);

  int channels_;
  std::vector<int> strides_;
  bool linear_end_ = false;
  std::vector<at::Tensor> parameters_;
};

}  // namespace millrace::pipeline
