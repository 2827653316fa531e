// How well a flow explains a pair of pictures, without any label: the unsupervised objective of
// optical flow.
//
// A street at night and a park at noon differ tenfold in what a pixel of motion costs. So both
// terms are weighed against the loss of no motion on the same pair: one setting of the smoothness
// then serves every camera, where an absolute one leaves some of them at zero flow for ever.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// What a flow costs on one pair.
struct FlowLoss {
  /// What is minimised; a scalar that autograd can go back from.
  at::Tensor objective;
  /// Scalars without a graph: the photometric loss of the flow, and that of zero flow. A pixel
  /// whose match lies outside the picture costs what no motion costs there, so that pointing
  /// outside wins nothing.
  at::Tensor photometric;
  at::Tensor no_motion;
};

/// Judges `flow` [1, 2, height, width] on `pictures` [2, 1, height, width] (previous, current; grey
/// in 0..1):
///
///   objective   = photometric / no_motion + smoothness * roughness
///   photometric = mean of rho(previous(x) - current(x + flow(x))),  rho(d) = sqrt(d^2 + 0.001^2)
///   roughness   = mean of exp(-10 |step of the picture|) rho(step of the flow),  over neighbours
///
/// A pixel that points out of the picture has no photometric gradient. Finite for every finite
/// flow; where the pictures are equal, no_motion is 0.001. A flow that is not finite makes an
/// objective that is not.
[[nodiscard]] FlowLoss ComputeFlowLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                       double smoothness);

}  // namespace millrace::pipeline
