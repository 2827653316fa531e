// What a flow is worth on the pictures that it was made of, as a prediction says it.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/nn/layer.h"
#include "pipeline/stages/judge.h"

namespace millrace::pipeline {

/// `pictures`: as PlanesOf(); `output`: of the network. The figures are for FlowPredictionOf().
[[nodiscard]] Measured MeasureFlow(const FlowLearnerOptions& options, const at::Tensor& pictures,
                                   const at::Tensor& output);

/// With the figures of MeasureFlow(), which it brings to the host; without what concerns learning.
[[nodiscard]] ModelPrediction FlowPredictionOf(const FlowLearnerOptions& options,
                                               const Tensors& figures);

}  // namespace millrace::pipeline
