// The network of optical flow, measured, cut and planned: all that a learner starts from.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/planner.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

struct PlannedFlow {
  /// In one place for ever: requests refer to it.
  std::unique_ptr<LayerChain> chain;
  Cuts cuts = {};
  Phases phases = {};
  /// Of the stages, in milliseconds, learning from every sample.
  std::vector<StageCost> costs = {};

  /// Of schedule "auto": what was asked of the planner, in milliseconds, and what it found.
  struct ForARate {
    PlannerRequest request;
    PlannedPipeline found;
  };
  std::optional<ForARate> for_a_rate = {};
};

/// Takes a few seconds. Fails as MakeFlowLearner() does.
[[nodiscard]] absl::StatusOr<PlannedFlow> PlanFlow(const FlowLearnerOptions& options);

}  // namespace millrace::pipeline
