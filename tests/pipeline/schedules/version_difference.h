// The age of the newest weights that all stages have when a backward begins: v of TiMePReSt.
#pragma once

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// The version difference in steady state, at unit costs: every forward of a sample and every
/// backward of a pattern take 1, updates take 0. When a pattern begins its backward on the last
/// stage, every stage has learned from all patterns up to an older one. The result is the distance
/// between the two patterns. 1: no gradient is stale. Fails as Simulate() does.
[[nodiscard]] absl::StatusOr<int> CountVersionDifference(const Plan& plan);

}  // namespace millrace::pipeline
