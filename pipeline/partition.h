// Cuts a chain of layers into stages so that the slowest stage is as fast as it can be.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/stage_cost.h"

namespace millrace::pipeline {

/// The first layer of every stage but the first, counted from 0: what a user calls the cuts.
using Cuts = std::vector<int>;

/// The cuts into `stages` runs of consecutive layers with the least maximum of their total costs.
/// Exact, by dynamic programming in O(stages * layers^2). Among equals, the earliest cuts. Fails
/// with INVALID_ARGUMENT unless 1 <= stages <= layers.
[[nodiscard]] absl::StatusOr<Cuts> BestCuts(const std::vector<StageCost>& layers, int stages);

/// The summed cost of each stage.
[[nodiscard]] std::vector<StageCost> StageCosts(const std::vector<StageCost>& layers,
                                                const Cuts& cuts);

/// Fails with INVALID_ARGUMENT, saying what is allowed, unless `cuts` rises strictly within 1 to
/// layers - 1.
[[nodiscard]] absl::Status CheckCuts(const Cuts& cuts, int layers);

}  // namespace millrace::pipeline
