// Measures a predicted flow on its own pictures, for the prediction that is published.
#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/nn/layer.h"
#include "pipeline/stages/loss.h"

namespace millrace::pipeline {

/// `pictures`: see PlanesOf(); `output`: the network's. FlowPredictionOf() reads the result's
/// figures.
[[nodiscard]] LossValue MeasureFlow(const FlowTaskOptions& task, const at::Tensor& pictures,
                                    const at::Tensor& output);

/// The prediction from the figures of MeasureFlow(), which it copies to the host. Leaves the fields
/// about learning empty.
[[nodiscard]] ModelPrediction FlowPredictionOf(const Tensors& figures);

}  // namespace millrace::pipeline
