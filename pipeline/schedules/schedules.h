// The schedules: pure functions from the pipeline's shape to a plan.
//
// Each schedule has its own file in pipeline/schedules/, which draws it, and one line in
// pipeline/schedules/list.h. docs/schedules.md shows them all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// A skip edge between two different stages, each counted from 1.
struct StageSkip {
  int from = 1;
  int to = 2;
};

/// The shape of a network that has been cut: a chain of stages, and the skips that cross a cut. The
/// loss of the last stage reads the sample itself, as a skip from the camera.
struct PipelineShape {
  int stages = 1;
  std::vector<StageSkip> skips = {};
};

/// The samples of a gpipe pattern that are kept as inputs and run forward again.
enum class Recompute { kAlways, kExceptLast, kNever };

/// The kind named "always", "except_last" or "never". Fails with INVALID_ARGUMENT naming them.
[[nodiscard]] absl::StatusOr<Recompute> RecomputeNamed(std::string_view name);

/// The period with which one_f_one_b_star and _one_w put each stage into its own group, as 1F1B.
inline constexpr double kEachStageAGroup = -1;

/// The input of a schedule. Each field names the schedules that read it; the others ignore it.
struct ScheduleRequest {
  PipelineShape shape = {};
  /// Costs of stages 1 to D, in one unit of time.
  std::vector<StageCost> costs = {};
  /// one_f_one_b_star, one_f_one_b_one_w: the T that groups must fit into, or kEachStageAGroup.
  /// interleaved: the period to place operations in. A value below the shortest possible period
  /// means that shortest one.
  double period = 0;
  /// k: gpipe's and timeprest's micro-batches, pipedream_2bw's samples for each update,
  /// k_periodic's samples for each pattern. 0: the schedule's own choice.
  int samples = 0;
  /// For gpipe.
  Recompute recompute = Recompute::kAlways;
  /// For stale: puts forwards and backwards of all stages but the last on separate devices, 2K + 1
  /// for K cuts.
  bool separate_backwards = false;
  /// For hybrid: the sample before which it drains and switches.
  std::int64_t switch_at = 1000;
  /// For interleaved: the device of each stage. Empty: round-robin.
  std::vector<int> device_of = {};
  /// For interleaved, if device_of is empty.
  int devices = 0;
};

/// A plan and its first sample. The plan before it is drained first.
struct Phase {
  Plan plan;
  std::int64_t first_sample = 0;
};

/// The plans of a learner, one after the other, the first from sample 0.
using Phases = std::vector<Phase>;

/// The rest of `phases` for a stream that continues with sample `first`: the phase that runs then,
/// from there, and all later ones. REQUIRES: `phases` is not empty, and its first phase does not
/// start after `first`.
[[nodiscard]] Phases PhasesFrom(Phases phases, std::int64_t first);

/// The plans of the schedule called `name`. Fails with INVALID_ARGUMENT naming the known schedules,
/// or the option that does not fit. REQUIRES: one cost for each stage.
[[nodiscard]] absl::StatusOr<Phases> MakePhases(std::string_view name,
                                                const ScheduleRequest& request);

/// The first plan of MakePhases(), for schedules that have only one.
[[nodiscard]] absl::StatusOr<Plan> MakePlan(std::string_view name, const ScheduleRequest& request);

/// The names that MakePhases() knows, in the order of the documentation.
[[nodiscard]] const std::vector<std::string>& ScheduleNames();

/// A one-line summary of a schedule. REQUIRES: `name` is one of ScheduleNames().
[[nodiscard]] std::string_view ScheduleSummary(std::string_view name);

/// The shortest possible time between two samples with one device for each stage: that of the
/// slowest stage or copy.
[[nodiscard]] double MinPeriod(const std::vector<StageCost>& costs);

}  // namespace millrace::pipeline
