// What a pipeline is and does, for the people who watch it.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/cuts.h"
#include "pipeline/layer.h"
#include "pipeline/learner_description.h"
#include "pipeline/plan.h"
#include "pipeline/planner.h"
#include "pipeline/stage_cost.h"

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
