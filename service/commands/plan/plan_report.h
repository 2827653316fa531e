// A plan for a network, and its properties before a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_checker.h"
#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/plan_cut.h"
#include "service/commands/plan/plan_hosts.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// One stage of a plan.
struct PlannedStage {
  /// Counted from 0, inclusive.
  int first_layer = 0;
  int last_layer = 0;
  /// The device of its forwards, and of its backwards and updates.
  std::size_t device = 0;
  std::size_t backward_device = 0;
  /// Its work per sample, on average.
  double load_ms = 0;
  pipeline::StageFigures figures = {};
  pipeline::StageHolds holds = {};
  double memory_bytes = 0;
};

/// The largest load per sample. No order of the same work has a shorter period.
struct Bottleneck {
  enum class Kind { kStage, kDevice, kCut, kLink };
  Kind kind = Kind::kStage;
  /// The stage (from 1), the device (from 0), the stage before the cut (from 1), or the host.
  int number = 1;
  double load_ms = 0;
  /// The layer with the largest share of the load, or the layer before the cut. Not for a link.
  int layer = 0;
  double layer_ms = 0;
  /// For a cut: the copies of a sample that share its link.
  int copies = 1;
};

/// The result of `auto` for a camera's rate.
struct FoundPlan {
  double interval_ms = 0;
  double spread = 0;
  /// The T of 1F1B*; 0: every stage is a group.
  double t_ms = 0;
  /// The model learns from every n-th sample; 0: from no sample.
  int update_every = 1;
  /// False if even predicting alone is too slow.
  bool holds = true;
  /// Expected with costs of that spread: the share of dropped frames, and the mean time from
  /// arrival to prediction.
  double dropped_share = 0;
  double mean_delay_ms = 0;
  /// A sentence on the limit of the speed.
  std::string limit;
};

/// One phase of a schedule. Most schedules have only one.
struct PlanReport {
  /// "partime"; for a second phase, the name of that phase's own schedule.
  std::string schedule;
  std::int64_t first_sample = 0;
  pipeline::Plan plan;
  /// Costs of stages 1 to D, in milliseconds.
  std::vector<pipeline::StageCost> costs;
  std::vector<PlannedStage> stages;
  /// The least possible time between two samples; `period_ms` is longer if frames come more slowly.
  double min_period_ms = 0;
  /// The requested period; 0: no request. `period_ms` is longer if the plan cannot hold it.
  double asked_period_ms = 0;
  double period_ms = 0;
  /// From arrival to prediction, if a sample arrives every period.
  double delay_ms = 0;
  /// The idle share of each device's time.
  std::vector<double> idle;
  std::vector<double> memory_bytes;
  Bottleneck bottleneck = {};
  /// Speed-up over one device that learns one sample at a time and updates as often. The cap is its
  /// upper bound for any cuts, because layers are not divided.
  double speed_up = 0;
  double speed_up_cap = 0;
  /// Lower bound of the period for any partition over these devices. Set if runs of layers were
  /// searched for.
  std::optional<double> bound_ms = {};
  /// Set if stages are on several hosts. Plan, costs and times are then those over the hosts.
  std::optional<PlannedHosts> hosts = {};
  /// Set for auto. All times above are then means over samples with and without an update.
  std::optional<FoundPlan> found = {};
};

/// The report of one phase. REQUIRES: `cut` belongs to the phase.
[[nodiscard]] absl::StatusOr<PlanReport> ReportOf(const pipeline::NetworkProfile& network,
                                                  const PlanRequest& request, const PlanCut& cut,
                                                  pipeline::Phase phase);

/// The phases of the plan for `request`. Fails with INVALID_ARGUMENT or RESOURCE_EXHAUSTED, and a
/// remedy.
[[nodiscard]] absl::StatusOr<std::vector<PlanReport>> MakePlanReports(
    const pipeline::NetworkProfile& costs, const PlanRequest& request);

/// A schedule, and its reports or the reason why it does not fit.
struct ComparedSchedule {
  std::string name;
  absl::StatusOr<std::vector<PlanReport>> reports;
};

/// All schedules for the same network and request. If no schedule fits, fails as the first one
/// does.
[[nodiscard]] absl::StatusOr<std::vector<ComparedSchedule>> CompareSchedules(
    const pipeline::NetworkProfile& costs, const PlanRequest& request);

/// Maximum over all stages and devices.
[[nodiscard]] int MaxStaleness(const PlanReport& report);
[[nodiscard]] int TotalSlots(const PlanReport& report);
[[nodiscard]] double MeanIdle(const PlanReport& report);
[[nodiscard]] double MaxMemory(const PlanReport& report);

}  // namespace millrace::service
