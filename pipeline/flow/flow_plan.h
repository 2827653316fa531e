// The measured, cut and planned network of optical flow, from which a learner starts.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/planner.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

struct PlannedFlow {
  /// Its address never changes, because requests refer to it.
  std::unique_ptr<LayerChain> chain;
  Cuts cuts = {};
  Phases phases = {};
  /// Costs of the stages in milliseconds, if every sample is learned from.
  std::vector<StageCost> costs = {};

  /// For schedule "auto": the request to the planner, in milliseconds, and its result.
  struct ForARate {
    PlannerRequest request;
    PlannedPipeline found;
  };
  std::optional<ForARate> for_a_rate = {};
};

/// Takes a few seconds. Fails as MakeFlowLearner(), and with CANCELLED once `stop` is requested.
[[nodiscard]] absl::StatusOr<PlannedFlow> PlanFlow(const LearnerOptions& options,
                                                   const FlowTaskOptions& task,
                                                   const std::stop_token& stop = {});

}  // namespace millrace::pipeline
