// LibTorch's operators with weights, with a backward that can be split (weight_gradients.h). The
// values are LibTorch's, bit for bit.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// at::conv2d. `input`: [n, inputs, height, width]. `weight`: [outputs, inputs, k, k]. `bias`:
/// [outputs], or undefined.
[[nodiscard]] at::Tensor SplitConv2d(const at::Tensor& input, const at::Tensor& weight,
                                     const at::Tensor& bias, std::int64_t stride,
                                     std::int64_t padding);

/// at::linear. `input`: [n, inputs]. `weight`: [outputs, inputs]. `bias`: [outputs].
[[nodiscard]] at::Tensor SplitLinear(const at::Tensor& input, const at::Tensor& weight,
                                     const at::Tensor& bias);

}  // namespace millrace::pipeline
