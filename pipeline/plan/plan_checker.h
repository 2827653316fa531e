// Says before it runs whether a plan can run, and what it will cost: staleness, mismatch, memory.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {

/// Checks that `plan` can run for ever and gives its figures, stages 1 to D. Fails with
/// INVALID_ARGUMENT that names the operation, says what is wrong with it and shows the pattern with
/// its place marked: a sample's operation missing, twice or out of order; a kind of a stage on two
/// devices; too few slots; weights overwritten that are still to be read; a channel that leads
/// nowhere; a standstill.
[[nodiscard]] absl::StatusOr<std::vector<StageFigures>> CheckPlan(const Plan& plan);

}  // namespace millrace::pipeline
