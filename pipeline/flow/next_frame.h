// The coming frame, predicted without labels: what moved between the two newest pictures moves on.
//
// A network of optical flow looks at three pictures, as two pairs in turn. What it sees from the
// second to the third is carried on and tells of the picture to come
// (pipeline/learner/picture_to_come.h). What it sees from the first to the second is carried on in
// the same way and judged by the third, which it has not seen there: that is what it learns from.
// So it learns which motion goes on, not which motion was: where things turn, stop or bounce the
// two differ. As a window of two samples of which the older one has its label (PARTIME, section
// V.D), it costs two samples.
//
// That pictures to come are made of pixels of pictures that there are, and learned from video
// alone, is from Liu et al., "Video frame synthesis using deep voxel flow", ICCV 2017.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/flow/flow_loss.h"

namespace millrace::pipeline {

/// Judges the first flow of `flow` [2, 2, height, width] on the last picture of `pictures` [3,
/// channels, height, width]: as ComputeFlowLoss() judges the flow, turned round, from the third
/// picture to the second. `no_motion` is what predicting the second picture again costs.
/// REQUIRES: no occlusion.
[[nodiscard]] FlowLoss ComputeNextFrameLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                            const FlowLossOptions& options);

}  // namespace millrace::pipeline
