// Gives each device several runs of layers, neighbours or not.
//
// Without memory in the way, contiguous runs can be almost twice as slow (Beaumont et al., Theorem
// 5): layers of cost 1, 2, 1 on two devices take 2 where the first and the last share a device, 3
// where runs must be contiguous. To find the best is NP-hard, so this is a heuristic, with a bound
// beside it that says how far from the best it can be.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

/// Stages, and the device of each.
struct ScatteredPartition {
  Cuts cuts;
  /// Counted from 0; neighbouring stages are on different ones.
  std::vector<int> device_of;
  /// The largest load of a device or a cut.
  double slowest = 0;
};

/// The faster of two starts (the longest layer first, to the device with the least; the best
/// contiguous cuts), each improved by moving and swapping layers between devices until none helps,
/// then made of as few runs as the same speed allows. Never slower than BestCuts(). Fails as
/// BestCuts() does; memory is not considered.
[[nodiscard]] absl::StatusOr<ScatteredPartition> Scatter(const std::vector<StageCost>& layers,
                                                         int devices);

/// What no partition over `devices` devices can beat: the largest layer, or an equal share of the
/// total if that is more. REQUIRES: devices >= 1.
[[nodiscard]] double ScatterBound(const std::vector<StageCost>& layers, int devices);

}  // namespace millrace::pipeline
