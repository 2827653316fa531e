// The task of a network of optical flow: the motion between the two newest pictures, or the next
// picture.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline {

/// The task's description in a checkpoint.
[[nodiscard]] std::string FlowTaskInWords(bool next_frame);

/// The pairs that the network sees.
[[nodiscard]] PicturePairs PairsFor(const FlowTaskOptions& task);

/// ComputeFlowLoss(), or ComputeNextFrameLoss() for the next frame.
[[nodiscard]] FlowLoss LossFor(const FlowTaskOptions& task, const at::Tensor& pictures,
                               const at::Tensor& flow);

/// The predicted flow among the flows that the network makes of a sample, [1, 2, height, width].
[[nodiscard]] at::Tensor PredictedFlow(const at::Tensor& flow, bool next_frame);

}  // namespace millrace::pipeline
