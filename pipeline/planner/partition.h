// Cuts a chain of layers into stages so that the slowest stage is as fast as possible.
//
//   layers   4 1 | 1 1 2 | 5      three stages: the slowest has 5
//
// The slowest unit sets the pace. Units are the stages, and the links between them: one carries
// every sample's activations forward, another one its gradient back.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

/// The stage, counted from 1, that holds `layer`. 0 is the camera, which is before layer 0.
[[nodiscard]] int StageOfLayer(const Cuts& cuts, int layer);

/// A chain to cut, and the limits of the cuts.
struct PartitionRequest {
  std::vector<LayerProfile> layers;
  int stages = 1;
  /// The memory of each device. nullopt: no limit.
  std::optional<double> memory_bytes = {};
  /// The holds of stages 1 to D. Empty: one version of the weights and one set of activations each.
  std::vector<StageHolds> holds = {};
  DeviceSpeeds speeds = {};
};

/// The cuts into `stages` runs of consecutive layers whose slowest stage or link is fastest, among
/// those in which every stage fits into memory. A link carries one copy at a time each way. Exact,
/// by dynamic programming in at most O(stages * layers^2). Of equal cuts, returns the earliest.
/// Fails with INVALID_ARGUMENT unless 1 <= stages <= layers. Fails with RESOURCE_EXHAUSTED if no
/// cuts fit. The message names the layer that fits nowhere, or the number of devices or bytes that
/// would be enough.
[[nodiscard]] absl::StatusOr<Cuts> BestCuts(const PartitionRequest& request);

/// BestCuts() without a memory limit.
[[nodiscard]] absl::StatusOr<Cuts> BestCuts(const std::vector<StageCost>& layers, int stages);

/// The summed cost of each stage. Its copy is the copy of its last layer.
[[nodiscard]] std::vector<StageCost> StageCosts(const std::vector<StageCost>& layers,
                                                const Cuts& cuts);

/// The same on devices that may differ.
[[nodiscard]] std::vector<StageCost> StageCosts(const std::vector<LayerProfile>& layers,
                                                const Cuts& cuts, const DeviceSpeeds& speeds);

/// The StageCost of each layer.
[[nodiscard]] std::vector<StageCost> CostsOf(const std::vector<LayerProfile>& layers);

/// The cuts that give each stage the number of layers in `layers_of_stages`. Fails with
/// INVALID_ARGUMENT, saying what is allowed, unless all are positive and their sum is `layers`.
[[nodiscard]] absl::StatusOr<Cuts> CutsInto(const std::vector<int>& layers_of_stages, int layers);

/// Fails with INVALID_ARGUMENT, saying what is allowed, unless `cuts` rises strictly within 1 to
/// layers - 1.
[[nodiscard]] absl::Status CheckCuts(const Cuts& cuts, int layers);

}  // namespace millrace::pipeline
