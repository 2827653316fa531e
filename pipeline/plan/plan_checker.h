// Checks a plan before it runs, and computes its costs: staleness, mismatch, memory.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {

/// Checks that `plan` can run without limit, and returns the figures of stages 1 to D. The
/// figures of a stage of another rank are 0. Fails with
/// INVALID_ARGUMENT, naming the operation and the error, and marking its place in the pattern.
/// Errors:
///   - a sample's operation is missing, doubled or out of order
///   - operations of one kind and stage are on two devices
///   - between a backward and its weight gradient, its stage does other than to go forward
///   - there are too few slots, or weights are overwritten before their last read
///   - a channel leads to no stage
///   - stages of one rank are no neighbours
///   - the plan deadlocks
[[nodiscard]] absl::StatusOr<std::vector<StageFigures>> CheckPlan(const Plan& plan);

}  // namespace millrace::pipeline
