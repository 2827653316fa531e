// A 3x3 convolution with its bias and its leaky ReLU in one operator.
//
// LibTorch's spends, on maps as small as those of a flow network, as long around the products as on
// them: on choosing a kernel, laying weights out anew and going through each map again for the
// bias, the ReLU and back.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

struct ConvolutionOptions {
  /// 1 or 2.
  int stride = 1;
  /// By which negative results are multiplied; above zero. 1: none of them is.
  double slope = 1;
};

/// `input`: float32 [n, inputs, height, width]; `weight`: [outputs, inputs, 3, 3]; `bias`:
/// [outputs]. Beyond its borders the input is zero, so at stride 1 the result has its size. Makes
/// and wants, lest it copies, the channels of a pixel side by side. Autograd can go back from the
/// result, once. Threads of LibTorch's change no value. On a device other than the CPU it is
/// LibTorch's (by_operators.h).
[[nodiscard]] at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight,
                                  const at::Tensor& bias, const ConvolutionOptions& options);

}  // namespace millrace::pipeline
