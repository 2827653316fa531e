// Match() (match.h) by our own kernels on a GPU: three forward, four backward.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline::gpu {

/// See pipeline::Match(), but the result is not channels-last. REQUIRES: both are float32, and
/// HasKernels() is true for their device.
[[nodiscard]] at::Tensor Match(const at::Tensor& features, const at::Tensor& flow,
                               PicturePairs pairs);

}  // namespace millrace::pipeline::gpu
