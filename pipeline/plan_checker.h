// Says before it runs whether a plan can run, and what it will cost: staleness, mismatch, memory.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan.h"

namespace millrace::pipeline {

/// What a plan does to one stage in steady state. The words are those of docs/architecture.md.
struct StageFigures {
  /// Samples between the gradient and the activations that it multiplies.
  int mismatch = 0;
  /// Updates between the stage's own forward and backward of a sample.
  int staleness = 0;
  /// Updates between the weights that made the activations a backward uses and the weights it
  /// meets.
  int weight_gap = 0;
  /// Updates between the weights that a backward meets and the update that applies its gradient.
  int gradient_age = 0;
  /// Sets of activations that are alive at once (NCA).
  int slots = 0;
};

/// Checks that `plan` can run for ever and gives its figures, stages 1 to D. Fails with
/// INVALID_ARGUMENT that names what is wrong: a sample's operation missing, twice or out of order;
/// a stage on two devices; too few slots; a channel that leads nowhere; a standstill.
[[nodiscard]] absl::StatusOr<std::vector<StageFigures>> CheckPlan(const Plan& plan);

}  // namespace millrace::pipeline
