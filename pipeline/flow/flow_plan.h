// The measured, cut and planned network of optical flow, from which a learner starts.
#pragma once

#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/stages/planned_chain.h"

namespace millrace::pipeline {

struct PlannedFlow {
  /// Its address never changes, because requests refer to it.
  std::unique_ptr<LayerChain> chain;
  PlannedChain network = {};
};

/// Takes a few seconds. Fails as MakeFlowLearner(), and with CANCELLED once `stop` is requested.
[[nodiscard]] absl::StatusOr<PlannedFlow> PlanFlow(const LearnerOptions& options,
                                                   const FlowTaskOptions& task,
                                                   const std::stop_token& stop = {});

}  // namespace millrace::pipeline
