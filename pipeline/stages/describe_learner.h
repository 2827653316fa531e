// Describes a pipeline and its work for observers.
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

/// A network's cuts, its plan, and its stages' costs in milliseconds if every sample is learned
/// from.
struct CutPipeline {
  Cuts cuts;
  Plan plan;
  std::vector<StageCost> costs;
};

/// Describes the pipeline when it learns as `effort` says. Leaves the sizes and the rate's plan
/// empty. Fails as CheckPlan().
[[nodiscard]] absl::StatusOr<LearnerDescription> Describe(const LayerChain& chain,
                                                          const CutPipeline& pipeline,
                                                          const Effort& effort);

}  // namespace millrace::pipeline
