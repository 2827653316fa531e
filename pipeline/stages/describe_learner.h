// What a pipeline is and does, for the people who watch it.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/learner_description.h"
#include "pipeline/nn/layer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/planner.h"

namespace millrace::pipeline {

/// A network that was cut, the plan that it runs by, and what its stages cost in milliseconds,
/// learning from every sample.
struct CutPipeline {
  Cuts cuts;
  Plan plan;
  std::vector<StageCost> costs;
};

/// Describes it when it learns as `effort` says. Sizes and the rate's plan stay empty. Fails as
/// CheckPlan().
[[nodiscard]] absl::StatusOr<LearnerDescription> Describe(const LayerChain& chain,
                                                          const CutPipeline& pipeline,
                                                          const Effort& effort);

}  // namespace millrace::pipeline
