// How well a flow explains a pair of pictures, without any label: the unsupervised objectives of
// optical flow.
//
// A street at night and a park at noon differ tenfold in what a pixel of motion costs. So the terms
// of relative, census and ssim are weighed against the loss of no motion on the same pair: one
// setting of the smoothness then serves every camera, where an absolute one, as photo_and_smooth
// and hs were published with, leaves some of them at zero flow for ever.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

/// What a flow costs on one pair.
struct FlowLoss {
  /// What is minimised; a scalar that autograd can go back from.
  at::Tensor objective;
  /// Scalars without a graph, the same under every objective, so that all can be compared: the
  /// photometric loss of the flow, and that of zero flow. A pixel whose match lies outside the
  /// picture costs what no motion costs there, so that pointing outside wins nothing.
  at::Tensor photometric;
  at::Tensor no_motion;
  /// The objective's terms without their weights, without a graph, as FlowLossTerms() names them.
  struct Term {
    std::string_view name;
    at::Tensor value;
  };
  c10::SmallVector<Term, 4> terms;
};

/// The pairs whose flows ComputeFlowLoss() takes.
[[nodiscard]] constexpr PicturePairs PairsJudged(const FlowLossOptions& options) {
  return options.occlusion ? PicturePairs::kBothWays : PicturePairs::kOne;
}

/// Judges `flow` [1, 2, height, width] on `pictures` [2, channels, height, width] (previous,
/// current; in 0..1; means are over channels, too). With `options.occlusion` the flow is [2, 2,
/// height, width], the second from the current picture to the previous one; terms and objective are
/// then the mean of both directions.
///
///   relative           photometric / no_motion + smoothness * roughness
///   census, ssim       data / data of no motion + smoothness * roughness
///   photo_and_smooth   photometric + smoothness * QuadraticRoughness()
///   hs                 Invariance() + smoothness * QuadraticRoughness()
///
/// Data of ssim is 0.85 of SsimDistance() and 0.15 of photometric, each relative to no motion (the
/// shares of Godard et al., "Unsupervised monocular depth estimation", 2017). For photo_and_smooth
/// what lies beyond a picture is its border.
///
///   photometric = mean of Charbonnier(previous(x) - current(x + flow(x)))
///   roughness   = EdgeAwareRoughness() on the previous picture
///
/// A pixel whose match is out of the picture or hidden has no gradient of relative, census and
/// ssim's data. Finite as far as a flow's square is; where the pictures are equal, no_motion is
/// 0.001. A flow that is not finite makes an objective that is not.
[[nodiscard]] FlowLoss ComputeFlowLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                       const FlowLossOptions& options);

}  // namespace millrace::pipeline
