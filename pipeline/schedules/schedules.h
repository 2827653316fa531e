// The schedules: each a pure function from the pipeline's shape to a plan.
//
// Each has a file of its own in pipeline/schedules/, which draws it, and one line in
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

/// A skip edge between two stages that are not the same, each counted from 1.
struct StageSkip {
  int from = 1;
  int to = 2;
};

/// What a schedule must know of a network that has been cut: a chain of stages, and the skips that
/// cross a cut. The loss of the last stage reads the sample itself, as a skip from the camera.
struct PipelineShape {
  int stages = 1;
  std::vector<StageSkip> skips;
};

/// Which samples of a gpipe pattern are kept as inputs and run forward again.
enum class Recompute { kAlways, kExceptLast, kNever };

/// The kind called "always", "except_last" or "never". Fails with INVALID_ARGUMENT naming them.
[[nodiscard]] absl::StatusOr<Recompute> RecomputeNamed(std::string_view name);

/// The period with which one_f_one_b_star makes each stage a group of its own, as 1F1B does.
inline constexpr double kEachStageAGroup = -1;

/// What a plan is made from. Each schedule says which of the options it reads; the others it leaves
/// alone.
struct ScheduleRequest {
  PipelineShape shape = {};
  /// Of stages 1 to D, in one unit of time.
  std::vector<StageCost> costs = {};
  /// one_f_one_b_star: the T that its groups must fit into, or kEachStageAGroup. interleaved: the
  /// period to place operations in. Less than is possible: the least that is.
  double period = 0;
  /// k: gpipe's and timeprest's micro-batches, pipedream_2bw's samples an update, k_periodic's
  /// samples a pattern. 0: the schedule's own choice.
  int samples = 0;
  /// gpipe.
  Recompute recompute = Recompute::kAlways;
  /// stale: forwards and backwards of all stages but the last on devices of their own, 2K + 1 for K
  /// cuts.
  bool separate_backwards = false;
  /// hybrid: the sample before which it drains and switches.
  std::int64_t switch_at = 1000;
  /// interleaved: the device of each stage. Empty: stages take turns.
  std::vector<int> device_of = {};
  /// interleaved, where device_of is empty.
  int devices = 0;
};

/// A plan and the sample that it starts with. What ran before is drained first.
struct Phase {
  Plan plan;
  std::int64_t first_sample = 0;
};

/// What a learner runs: plans one after the other, the first from sample 0.
using Phases = std::vector<Phase>;

/// What is still to come of `phases` for a stream that goes on with sample `first`, and what runs
/// then, from there. REQUIRES: there are phases, the first from a sample no later than that.
[[nodiscard]] Phases PhasesFrom(Phases phases, std::int64_t first);

/// The plans of the schedule called `name`. Fails with INVALID_ARGUMENT naming the schedules that
/// there are, or the option that does not fit. REQUIRES: one cost a stage.
[[nodiscard]] absl::StatusOr<Phases> MakePhases(std::string_view name,
                                                const ScheduleRequest& request);

/// The first of them, for schedules that have just one.
[[nodiscard]] absl::StatusOr<Plan> MakePlan(std::string_view name, const ScheduleRequest& request);

/// The names that MakePhases() knows, in the order of the documentation.
[[nodiscard]] const std::vector<std::string>& ScheduleNames();

/// What a schedule is, in a line. REQUIRES: it is one of ScheduleNames().
[[nodiscard]] std::string_view ScheduleSummary(std::string_view name);

/// The time between two samples under which no plan with a device a stage can go: that of the
/// slowest stage.
[[nodiscard]] double LeastPeriod(const std::vector<StageCost>& costs);

}  // namespace millrace::pipeline
