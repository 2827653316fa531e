// A plan for a network, and all that can be said of it before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_checker.h"
#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/plan_cut.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// One stage of a plan.
struct PlannedStage {
  /// Counted from 0, both included.
  int first_layer = 0;
  int last_layer = 0;
  /// Of its forwards, and of its backwards and updates.
  std::size_t device = 0;
  std::size_t backward_device = 0;
  /// What it works for each sample, on average.
  double load_ms = 0;
  pipeline::StageFigures figures = {};
  pipeline::StageHolds holds = {};
  double memory_bytes = 0;
};

/// What has the most to do for a sample: no order of the same work has a shorter period.
struct Bottleneck {
  enum class Kind { kStage, kDevice, kCut };
  Kind kind = Kind::kStage;
  /// The stage, from 1; the device, from 0; or the stage before the cut, from 1.
  int number = 1;
  double load_ms = 0;
  /// The layer that has the largest share of it, or that the cut is behind.
  int layer = 0;
  double layer_ms = 0;
};

/// What `auto` found for a camera's rate.
struct FoundPlan {
  double interval_ms = 0;
  double spread = 0;
  /// The T of 1F1B*; 0: every stage is a group.
  double t_ms = 0;
  /// Every n-th sample is learned from; 0: none.
  int update_every = 1;
  /// False where even predicting alone is too slow.
  bool holds = true;
  /// When costs spread so: the share of frames, and from a frame's arrival to its prediction.
  double dropped_share = 0;
  double mean_delay_ms = 0;
  /// A sentence: what stands in the way of more speed.
  std::string limit;
};

/// One phase of a schedule. Most have just one.
struct PlanReport {
  /// "partime"; of a second phase what it is by itself.
  std::string schedule;
  std::int64_t first_sample = 0;
  pipeline::Plan plan;
  /// Of stages 1 to D, in milliseconds.
  std::vector<pipeline::StageCost> costs;
  std::vector<PlannedStage> stages;
  /// Between two samples: the least possible, or that of the frames if they are slower.
  double least_period_ms = 0;
  /// As asked for; 0: none was. `period_ms` is longer where this does not hold.
  double asked_period_ms = 0;
  double period_ms = 0;
  /// From arrival to prediction, when a sample arrives every period.
  double delay_ms = 0;
  /// Share of the time that each device does nothing.
  std::vector<double> idle;
  std::vector<double> memory_bytes;
  Bottleneck bottleneck = {};
  /// Over one device that learns one sample at a time and updates as often; and what no cuts can
  /// exceed, because a layer is not divided.
  double speed_up = 0;
  double speed_up_cap = 0;
  /// Where runs of layers were searched for: no partition over these devices has a shorter period.
  std::optional<double> bound_ms = {};
  /// auto. All times above are then means over the samples that are learned from and those that are
  /// only predicted.
  std::optional<FoundPlan> found = {};
};

/// The report of one phase. `cut` must be what the phase is for.
[[nodiscard]] absl::StatusOr<PlanReport> ReportOf(const pipeline::NetworkCosts& network,
                                                  const PlanRequest& request, const PlanCut& cut,
                                                  pipeline::Phase phase);

/// The phases of the plan that `request` asks for. Fails with INVALID_ARGUMENT or
/// RESOURCE_EXHAUSTED, saying what to ask for instead.
[[nodiscard]] absl::StatusOr<std::vector<PlanReport>> MakePlanReports(
    const pipeline::NetworkCosts& costs, const PlanRequest& request);

/// A schedule, and what it comes to or why it does not fit.
struct ComparedSchedule {
  std::string name;
  absl::StatusOr<std::vector<PlanReport>> reports;
};

/// All schedules that there are, for the same network and request. Fails as the first does if the
/// request fits none.
[[nodiscard]] absl::StatusOr<std::vector<ComparedSchedule>> CompareSchedules(
    const pipeline::NetworkCosts& costs, const PlanRequest& request);

/// Of all stages and devices.
[[nodiscard]] int MostStaleness(const PlanReport& report);
[[nodiscard]] int TotalSlots(const PlanReport& report);
[[nodiscard]] double MeanIdle(const PlanReport& report);
[[nodiscard]] double MostMemory(const PlanReport& report);

}  // namespace millrace::service
