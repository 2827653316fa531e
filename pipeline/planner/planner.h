// Plans for a frame rate: the least staleness, then the least delay, with which a camera's rate
// holds under the measured spread of the costs.
//
//   frame interval ─┐
//   layer costs ────┼─▶ PlanFor() ─▶ cuts, plan, what to expect, what limits
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
#include "pipeline/planner/layer_costs.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

struct PlannerRequest {
  /// Their times in the unit of `interval`.
  std::vector<LayerCosts> layers = {};
  /// Of each device. Nothing: no limit.
  std::optional<double> memory_bytes = {};
  /// The skips of the network once it is cut.
  std::function<std::vector<StageSkip>(const Cuts&)> skips_of = {};
  /// Between two frames of the camera.
  double interval = 0;
  /// Devices that there are. Fewer are used where fewer do.
  int devices = 1;
  /// Standard deviation of the logarithm of the costs.
  double spread = 0.1;
  /// Frames that may wait before the first stage.
  int queue = 2;
  /// Share of the frames that may be dropped and the rate still be said to hold.
  double tolerated_drops = 0.005;
  /// Gives up, between two plans that are tried.
  std::stop_token stop = {};
};

/// How much learning there is time for.
struct Effort {
  /// Every n-th sample is learned from; 0: none, it only predicts.
  int update_every = 1;
};

struct PlannedPipeline {
  Cuts cuts;
  Plan plan;
  /// Of the stages, at this effort: backwards and updates count for the share of the samples that
  /// are learned from.
  std::vector<StageCost> costs;
  /// The T of 1F1B*, which its groups fit into; 0: every stage is a group.
  double period = 0;
  Effort effort;
  /// False where even predicting alone cannot keep the rate: frames are dropped.
  bool holds = true;
  /// As SimulateLive() expects them.
  double dropped_share = 0;
  double mean_delay = 0;
  /// The largest of all stages.
  int staleness = 0;
  /// "layer 3 alone takes 62 of the 140 that a sample costs: pipelining gains a factor of 2.26 at
  /// most".
  std::string limit = {};
};

/// What a layer or stage costs a sample when only so much is learned.
[[nodiscard]] StageCost AtEffort(StageCost cost, const Effort& effort);
[[nodiscard]] std::vector<LayerCosts> AtEffort(std::vector<LayerCosts> layers,
                                               const Effort& effort);

/// Fills in what to expect of `pipeline`, which has cuts, plan and costs: drops and delay.
[[nodiscard]] absl::Status Evaluate(const PlannerRequest& request, PlannedPipeline& pipeline);

/// Tries, from the least staleness on: one device, then more, 1F1B*(T) with T a share of the
/// interval, then lags from D - h to 2(D - h). Where nothing holds, gives up learning first: every
/// second sample, every fourth ... then predicts only. Fails with INVALID_ARGUMENT unless interval
/// and devices are positive and there are layers, with RESOURCE_EXHAUSTED where no plan fits into
/// the memory, and with CANCELLED once `stop` is requested.
[[nodiscard]] absl::StatusOr<PlannedPipeline> PlanFor(const PlannerRequest& request);

}  // namespace millrace::pipeline
