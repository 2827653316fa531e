// The network's own operators, composed of LibTorch's: their definition, in any type and on any
// device. Ours (convolution.h, match.h, relative_loss.h) have loops for the CPU in float32; what
// lies elsewhere is done by these.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline::by_operators {

/// As pipeline::Convolve().
[[nodiscard]] at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight,
                                  const at::Tensor& bias, int stride, double slope);

/// As pipeline::Match().
[[nodiscard]] at::Tensor Match(const at::Tensor& features, const at::Tensor& flow,
                               PicturePairs pairs);

}  // namespace millrace::pipeline::by_operators
