// What a learner asks of its network of optical flow: the motion between the two newest pictures,
// or the picture to come.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

/// What is learned, as a checkpoint says it.
[[nodiscard]] std::string FlowTaskInWords(const FlowLearnerOptions& options);

/// The pairs that the network looks at.
[[nodiscard]] PicturePairs PairsFor(const FlowLearnerOptions& options);

/// ComputeFlowLoss(), or for the next frame ComputeNextFrameLoss().
[[nodiscard]] FlowLoss LossFor(const FlowLearnerOptions& options, const at::Tensor& pictures,
                               const at::Tensor& flow);

/// Of the flows that the network makes of a sample the one that is predicted, [1, 2, height,
/// width].
[[nodiscard]] at::Tensor PredictedFlow(const FlowLearnerOptions& options, const at::Tensor& flow);

}  // namespace millrace::pipeline
