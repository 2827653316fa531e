// A chain's cuts and plans, and the plan for a camera's frame rate.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/layer_profile.h"
#include "pipeline/planner/planner.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// For schedule "auto": the request to the planner, in milliseconds, and its result.
struct PlanForARate {
  double frames_per_second = 0;
  PlannerRequest request;
  PlannedPipeline found;
};

/// The cuts of a chain, its plans and the expected costs of its stages.
struct PlannedChain {
  Cuts cuts = {};
  Phases phases = {};
  /// In milliseconds, if every sample is learned from.
  std::vector<StageCost> costs = {};
  /// nullopt for other schedules than "auto".
  std::optional<PlanForARate> for_a_rate = {};
};

/// INVALID_ARGUMENT if schedule "auto" has no frame rate, or the share for planning again is
/// negative.
[[nodiscard]] absl::Status CheckRate(const LearnerOptions& options);

/// Cuts `chain` and plans for options.frames_per_second, on options.stages devices at most.
/// `profile` has the measured layers, in milliseconds. The chain must outlive the result. Fails as
/// PlanFor(). REQUIRES: CheckRate().
[[nodiscard]] absl::StatusOr<PlannedChain> PlanForTheRate(const LayerChain& chain,
                                                          const LearnerOptions& options,
                                                          const NetworkProfile& profile,
                                                          const std::stop_token& stop);

}  // namespace millrace::pipeline
