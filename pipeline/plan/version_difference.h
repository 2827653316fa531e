// How far back the weights are that all stages have when a backward begins: TiMePReSt's v.
#pragma once

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Counts, in steady state and at unit costs (every forward of a sample and every backward of a
/// pattern take 1, updates nothing), how many patterns lie between one that begins to go backward
/// on the last stage and the newest one from which every stage has learned by then. 1: no gradient
/// is stale. Fails as Simulate() does.
[[nodiscard]] absl::StatusOr<int> CountVersionDifference(const Plan& plan);

}  // namespace millrace::pipeline
