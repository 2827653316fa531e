// Compares every pixel of one feature map with its neighbours in another: the cost volume of
// optical flow.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Scales the channels of every pixel to length one, so that only their direction is compared.
[[nodiscard]] at::Tensor NormalizeChannels(const at::Tensor& features);

/// `first` and `second`: [1, channels, height, width]. Returns [1, (2 radius + 1)^2, height,
/// width]:
///
///   channel (dy + radius) (2 radius + 1) + dx + radius of pixel (y, x)
///     = sum over c of first[c, y, x] second[c, y + dy, x + dx]
///
/// Outside its borders `second` counts as zero. Autograd can go back from the result, once.
[[nodiscard]] at::Tensor Correlate(const at::Tensor& first, const at::Tensor& second, int radius);

}  // namespace millrace::pipeline
