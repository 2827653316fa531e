// The objective `relative` of flow_loss.h in one operator. LibTorch needs some sixty operators for
// it, each with a pass over a map forward and backward.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Scalars; only the objective is differentiable.
struct RelativeLoss {
  at::Tensor objective;
  /// The objective's parts, over all directions.
  at::Tensor photometric;
  at::Tensor roughness;
  /// The photometric loss from the previous picture to the current one alone, and that of no
  /// motion. Occluded pixels count, too.
  at::Tensor score;
  at::Tensor no_motion;
};

/// Whether ComputeRelativeLoss() accepts these tensors: on the CPU, and on GPUs with kernels for
/// their size.
[[nodiscard]] bool HasRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow);

/// `pictures`: [2, channels, height, width]. `flow`: [n, 2, height, width], float or double, n as
/// in ComputeFlowLoss(). `visible`: bool [n, 1, height, width], or undefined: all are visible.
/// Autograd can go backward to the flow once. REQUIRES: HasRelativeLoss(); on a GPU, float.
[[nodiscard]] RelativeLoss ComputeRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                               const at::Tensor& visible, double smoothness);

}  // namespace millrace::pipeline
