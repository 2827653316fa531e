// ComputeRelativeLoss() (relative_loss.h) by kernels of our own on a GPU.
#pragma once

#include "pipeline/ops/relative_loss.h"

namespace millrace::pipeline::gpu {

/// As pipeline::ComputeRelativeLoss(). REQUIRES: HasKernels() of the device of all, float32.
[[nodiscard]] RelativeLoss ComputeRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                               const at::Tensor& visible, double smoothness);

}  // namespace millrace::pipeline::gpu
