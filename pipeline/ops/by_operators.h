// The network's operators, composed of LibTorch's operators. These are their definition, for every
// type and device. Our own loops (convolution.h, match.h, relative_loss.h) handle float32 on the
// CPU; all other types and devices use this file.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline::by_operators {

/// See pipeline::Convolve().
[[nodiscard]] at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight,
                                  const at::Tensor& bias, int stride, double slope);

/// See pipeline::Match().
[[nodiscard]] at::Tensor Match(const at::Tensor& features, const at::Tensor& flow,
                               PicturePairs pairs);

/// See pipeline::BlendFlow().
[[nodiscard]] at::Tensor BlendFlow(const at::Tensor& flow, const at::Tensor& choices);

}  // namespace millrace::pipeline::by_operators
