// The objective `relative` of flow_loss.h in one operator: as LibTorch's own it is some sixty, each
// once through a map there and back.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Scalars; only the objective has a graph.
struct RelativeLoss {
  at::Tensor objective;
  /// The objective's parts, over all directions.
  at::Tensor photometric;
  at::Tensor roughness;
  /// Of the direction from the previous picture to the current one alone, hidden pixels judged,
  /// too: its photometric loss, and that of no motion.
  at::Tensor score;
  at::Tensor no_motion;
};

/// Whether ComputeRelativeLoss() takes them: on the CPU, and on GPUs with kernels for as many.
[[nodiscard]] bool HasRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow);

/// `pictures`: [2, channels, height, width]; `flow`: [n, 2, height, width], float or double, n as
/// in ComputeFlowLoss(); `visible`: bool [n, 1, height, width], or undefined: every pixel is.
/// Autograd can go back to the flow, once. REQUIRES: HasRelativeLoss(); on a GPU, float.
[[nodiscard]] RelativeLoss ComputeRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                               const at::Tensor& visible, double smoothness);

}  // namespace millrace::pipeline
