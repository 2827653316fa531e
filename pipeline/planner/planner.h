// Plans for a frame rate: finds the least staleness, then the least delay, at which a camera's rate
// holds. The rate must hold under the measured spread of the costs, without a long tail of delays.
//
//   frame interval ─┐
//   layer costs ────┼─▶ PlanFor() ─▶ cuts, plan, expected drops and delay, limit of the speed
//   devices, memory ┘
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/planner/layer_profile.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

/// The share of dropped frames at which the rate still counts as held.
inline constexpr double kToleratedDrops = 0.005;
/// The 99th percentile of the delay over its median, up to which a plan keeps the delay.
inline constexpr double kToleratedTail = 1.5;

struct PlannerRequest {
  /// Times in the unit of `interval`.
  std::vector<LayerProfile> layers = {};
  /// The memory of each device. nullopt: no limit.
  std::optional<double> memory_bytes = {};
  /// The skips that cross the given cuts of the network.
  std::function<std::vector<StageSkip>(const Cuts&)> skips_of = {};
  /// The time between two frames of the camera.
  double interval = 0;
  /// Available devices. A plan uses fewer where fewer are enough, unless `uses_all`.
  int devices = 1;
  bool uses_all = false;
  /// REQUIRES: empty, or `uses_all`.
  DeviceSpeeds speeds = {};
  /// Standard deviation of the logarithm of the costs.
  double spread = 0.1;
  /// Cancels planning, between two candidate plans.
  std::stop_token stop = {};
};

/// The share of samples that are learned from.
struct Effort {
  /// Learns from every n-th sample; 0: only predicts.
  int update_every = 1;
};

struct PlannedPipeline {
  Cuts cuts;
  Plan plan;
  /// Costs of the stages at this effort: backwards and updates count for the share of samples that
  /// are learned from.
  std::vector<StageCost> costs;
  /// The T of 1F1B*, which its groups fit into; 0: every stage is a group.
  double period = 0;
  Effort effort;
  /// False if even a plan that only predicts cannot keep the rate: frames are dropped.
  bool holds = true;
  /// Expected values, from SimulateLive().
  double dropped_share = 0;
  double mean_delay = 0;
  /// The 99th percentile of the delay over its median.
  double tail = 0;
  /// The maximum over all stages.
  int staleness = 0;
  /// "layer 3 alone takes 62 of the 140 ms that a sample costs: pipelining gains a factor of 2.26
  /// at most". If a link to another device is slower than each stage: "the link behind stage 1
  /// takes 98 ms a sample, longer than each stage".
  std::string limit = {};
};

/// Whether a plan with the tail `tail` keeps the delay, where another plan has the tail `shortest`:
/// within kToleratedTail, or about as short.
[[nodiscard]] bool KeepsDelay(double tail, double shortest);

/// The cost of a layer or stage for a sample at this effort.
[[nodiscard]] StageCost AtEffort(StageCost cost, const Effort& effort);
[[nodiscard]] std::vector<LayerProfile> AtEffort(std::vector<LayerProfile> layers,
                                                 const Effort& effort);

/// Fills in the expected drops and delay of `pipeline`, which has cuts, plan and costs.
[[nodiscard]] absl::Status Evaluate(const PlannerRequest& request, PlannedPipeline& pipeline);

/// Returns the plan that holds the rate and keeps the delay with the least staleness, and among
/// equals the least delay. If no plan that holds the rate keeps the delay, takes those whose tail
/// is within a tenth of the shortest. Candidates for each number of devices are 1F1B*(T) with T a
/// share of the interval, and 1F1B with lags from D - h to 2(D - h). If none holds, reduces
/// learning: every second sample, every fourth ... and finally no learning. Fails with
/// INVALID_ARGUMENT unless interval and devices are positive and there are layers. Fails with
/// RESOURCE_EXHAUSTED if no plan fits into the memory, and with CANCELLED once `stop` is requested.
[[nodiscard]] absl::StatusOr<PlannedPipeline> PlanFor(const PlannerRequest& request);

}  // namespace millrace::pipeline
