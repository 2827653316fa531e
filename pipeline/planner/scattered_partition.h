// Gives each device several runs of layers, neighbours or not.
//
// Without memory limits, contiguous runs can be almost twice as slow (Beaumont et al., Theorem 5).
// Layers of cost 1, 2, 1 on two devices take 3 in contiguous runs. They take 2 if the first and the
// last layer share a device. The optimum is NP-hard, so this is a heuristic. ScatterBound() limits
// its distance from the optimum.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

/// Stages, and the device of each stage.
struct ScatteredPartition {
  Cuts cuts;
  /// Counted from 0. Neighbouring stages are on different devices.
  std::vector<int> device_of;
  /// The largest load of a device or a link.
  double slowest = 0;
};

/// Improves two starts and returns the faster one. The starts are the greedy one (the longest layer
/// first, to the device with the least load) and the best contiguous cuts. Moves and swaps layers
/// between devices until no move helps, then merges runs as the same speed allows. Never slower
/// than BestCuts(). Fails as BestCuts() does; ignores memory.
[[nodiscard]] absl::StatusOr<ScatteredPartition> Scatter(const std::vector<StageCost>& layers,
                                                         int devices);

/// A lower bound of every partition over `devices` devices: the largest layer, or an equal share of
/// the total if that is more. REQUIRES: devices >= 1.
[[nodiscard]] double ScatterBound(const std::vector<StageCost>& layers, int devices);

}  // namespace millrace::pipeline
