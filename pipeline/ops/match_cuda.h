// Match() (match.h) by kernels of our own on a GPU: three there, four back.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline::gpu {

/// As pipeline::Match(), but that the result lies row by row. REQUIRES: HasKernels() of the device
/// of both, float32.
[[nodiscard]] at::Tensor Match(const at::Tensor& features, const at::Tensor& flow,
                               PicturePairs pairs);

}  // namespace millrace::pipeline::gpu
