// A 3x3 convolution with its bias and its leaky ReLU in one operator.
//
// On maps as small as a flow network's, LibTorch spends as much time around the products as on
// them. It chooses a kernel, lays weights out again, and passes over each map again for the bias
// and the ReLU, forward and backward.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

struct ConvolutionOptions {
  /// 1 or 2.
  int stride = 1;
  /// The factor for negative results; above zero. 1: no ReLU.
  double slope = 1;
};

/// `input`: float32 [n, inputs, height, width]. `weight`: [outputs, inputs, 3, 3]. `bias`:
/// [outputs]. The input is zero beyond its borders, so at stride 1 the result has the input's size.
///
/// The result is channels-last. An input that is not channels-last is copied. Autograd can go
/// backward from the result once. The number of LibTorch's threads changes no value. Devices other
/// than the CPU run the definition in by_operators.h.
[[nodiscard]] at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight,
                                  const at::Tensor& bias, const ConvolutionOptions& options);

}  // namespace millrace::pipeline
