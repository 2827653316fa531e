// Predicts the next frame without labels: the motion between the two newest pictures continues.
//
// A network of optical flow sees three pictures as two pairs. The motion from the second picture to
// the third, extended, predicts the next picture (pipeline/learner/picture_to_come.h). The motion
// from the first to the second is extended in the same way. It gives the loss on the third picture,
// which that pair has not seen. So the network learns the motion that continues, not the past one:
// the two differ where things turn, stop or bounce. It costs two samples, like a window of two
// samples whose older one has its label (PARTIME, section V.D).
//
// Liu et al. composed future pictures from the pixels of existing ones. Their network learned from
// video alone ("Video frame synthesis using deep voxel flow", ICCV 2017).
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/flow/flow_loss.h"

namespace millrace::pipeline {

/// Judges the first flow of `flow` [2, 2, height, width] on the last picture of `pictures` [3,
/// channels, height, width]. It is the loss of ComputeFlowLoss() for the negated flow from the
/// third picture to the second. `no_motion` is the loss of predicting the second picture again.
/// REQUIRES: no occlusion.
[[nodiscard]] FlowLoss ComputeNextFrameLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                            const FlowLossOptions& options);

}  // namespace millrace::pipeline
