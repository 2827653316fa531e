// Cuts a chain of layers into stages so that the slowest stage is as fast as it can be.
//
//   layers   4 1 | 1 1 2 | 5      three stages: the slowest has 5
//
// The slowest of what works at the same time sets the pace. That is the stages, and the links
// between them: a cut carries every sample's activations there and its gradient back.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::pipeline {

/// The stage, counted from 1, that holds `layer`. 0 is the camera, which is before layer 0.
[[nodiscard]] int StageOfLayer(const Cuts& cuts, int layer);

/// What is to be cut, and what the cuts must respect.
struct PartitionRequest {
  std::vector<LayerCosts> layers;
  int stages = 1;
  /// Of each device. Nothing: no limit.
  std::optional<double> memory_bytes = {};
  /// Of stages 1 to D. Empty: each holds one version of its weights and one set of activations.
  std::vector<StageHolds> holds = {};
};

/// The cuts into `stages` runs of consecutive layers with the least Slowest(), among those in which
/// every stage fits into memory. Exact, by dynamic programming in at most O(stages * layers^2).
/// Among equals, the earliest cuts. Fails with INVALID_ARGUMENT unless 1 <= stages <= layers, and
/// with RESOURCE_EXHAUSTED if no cuts fit: naming the layer that fits nowhere, or how many devices
/// or how many bytes would do.
[[nodiscard]] absl::StatusOr<Cuts> BestCuts(const PartitionRequest& request);

/// The same without any limit of memory.
[[nodiscard]] absl::StatusOr<Cuts> BestCuts(const std::vector<StageCost>& layers, int stages);

/// The summed cost of each stage; its copy is that of its last layer.
[[nodiscard]] std::vector<StageCost> StageCosts(const std::vector<StageCost>& layers,
                                                const Cuts& cuts);

/// The largest load of all stages and of all cuts: a cut's is its copy there and back.
[[nodiscard]] double Slowest(const std::vector<StageCost>& stages);

/// The costs of layers alone.
[[nodiscard]] std::vector<StageCost> CostsOf(const std::vector<LayerCosts>& layers);

/// The cuts that give each stage as many layers as `layers_of_stages` says. Fails with
/// INVALID_ARGUMENT, saying what is allowed, unless all are positive and sum up to `layers`.
[[nodiscard]] absl::StatusOr<Cuts> CutsInto(const std::vector<int>& layers_of_stages, int layers);

/// Fails with INVALID_ARGUMENT, saying what is allowed, unless `cuts` rises strictly within 1 to
/// layers - 1.
[[nodiscard]] absl::Status CheckCuts(const Cuts& cuts, int layers);

}  // namespace millrace::pipeline
