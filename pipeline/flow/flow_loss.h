// Unsupervised objectives of optical flow: how well a flow explains a pair of pictures, without
// labels.
//
// The loss of one pixel of motion differs tenfold between a street at night and a park at noon. So
// the terms of relative, census and ssim are relative to the loss of no motion on the same pair.
// One smoothness setting then serves every camera. With an absolute one, as published for
// photo_and_smooth and hs, some cameras stay at zero flow forever.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

/// The loss of a flow on one pair.
struct FlowLoss {
  /// The scalar to minimise, with a graph.
  at::Tensor objective;
  /// Scalars without a graph: the photometric loss of the flow and of zero flow. They are the same
  /// under every objective, so that results can be compared. A pixel whose match lies outside the
  /// picture costs as much as no motion, so that pointing outside gains nothing.
  at::Tensor photometric;
  at::Tensor no_motion;
  /// The objective's terms without weights and without a graph, named as in FlowLossTerms().
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

/// Computes the loss of `flow` [1, 2, height, width] on `pictures` [2, channels, height, width]
/// (previous, current; in 0..1). Means are also over channels. With `options.occlusion` the flow is
/// [2, 2, height, width]; the second one leads from the current picture to the previous one. Terms
/// and objective are then the mean of both directions.
///
///   relative           photometric / no_motion + smoothness * roughness
///   census, ssim       data / data of no motion + smoothness * roughness
///   photo_and_smooth   photometric + smoothness * QuadraticRoughness()
///   hs                 Invariance() + smoothness * QuadraticRoughness()
///
/// The data of ssim is 0.85 of SsimDistance() and 0.15 of photometric, each relative to no motion.
/// The shares are from Godard et al., "Unsupervised monocular depth estimation", 2017. The
/// objective photo_and_smooth extends a picture by its border values.
///
///   photometric = mean of Charbonnier(previous(x) - current(x + flow(x)))
///   roughness   = EdgeAwareRoughness() on the previous picture
///
/// A pixel whose match is outside the picture or hidden has no gradient in relative, census and
/// ssim's data. The loss is finite if the flow's square is; for equal pictures, no_motion is 0.001.
/// A flow that is not finite makes an objective that is not finite.
[[nodiscard]] FlowLoss ComputeFlowLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                       const FlowLossOptions& options);

}  // namespace millrace::pipeline
