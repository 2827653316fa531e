// ComputeRelativeLoss() (relative_loss.h) by our own kernels on a GPU.
#pragma once

#include "pipeline/ops/relative_loss.h"

namespace millrace::pipeline::gpu {

/// See pipeline::ComputeRelativeLoss(). REQUIRES: all are float32, and HasKernels() is true for
/// their device.
[[nodiscard]] RelativeLoss ComputeRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                               const at::Tensor& visible, double smoothness);

}  // namespace millrace::pipeline::gpu
