// The schedules: each a pure function from the pipeline's shape to a plan.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan.h"

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

/// What one sample costs a stage, in any unit of time.
struct StageCost {
  double forward = 0;
  double backward = 0;
  double update = 0;

  [[nodiscard]] double total() const { return forward + backward + update; }
};

/// One sample at a time: the reference. No stage starts a sample before all have learned from the
/// last.
[[nodiscard]] Plan Sequential(const PipelineShape& shape);

/// PARTIME (Meloni et al., "PARTIME: scalable and parallel processing over time with deep neural
/// networks", eq. 7 to 11 and Algorithm 1): in every period each stage goes forward, backward and
/// updates, on what its neighbours made in the period before. Its backward multiplies the gradient
/// of sample t with the activations of its newest sample, t + 2(D-h).
///
///   period   stage 1          stage 2          stage 3
///        2   F1(2)            F2(1)            F3(0) B3(0) U3(0)
///        3   F1(3)            F2(2) B2(0) U2   F3(1) B3(1) U3(1)
///        4   F1(4) B1(0) U1   F2(3) B2(1) U2   F3(2) B3(2) U3(2)
[[nodiscard]] Plan Partime(const PipelineShape& shape);

/// 1F1B*(T) (Beaumont, Eyraud-Dubois and Shilova, "Pipelined model parallelism: complexity results
/// and memory considerations", Algorithm 1): from the last stage backwards, stages are put into
/// groups that fit into `period`; inside a group a sample goes forward and back in one period, and
/// a group runs one period ahead of the next. It keeps as few activations as any 1-periodic plan
/// can, and so has the least staleness.
///
/// Where updates take time, a group fits when for each of its stages the forwards and backwards
/// from it to the group's end, plus its own update, take at most `period`: the stages after it
/// update while it still goes backward. A single stage always makes a group. REQUIRES: one cost a
/// stage.
[[nodiscard]] Plan OneFOneBStar(const PipelineShape& shape, const std::vector<StageCost>& costs,
                                double period);

/// The period under which no plan with a device a stage can go: that of the slowest stage.
[[nodiscard]] double LeastPeriod(const std::vector<StageCost>& costs);

/// The plan of the schedule called `name`. `period` is for one_f_one_b_star; 0 means LeastPeriod().
/// Fails with INVALID_ARGUMENT naming the schedules that there are.
[[nodiscard]] absl::StatusOr<Plan> MakePlan(const std::string& name, const PipelineShape& shape,
                                            const std::vector<StageCost>& costs, double period);

/// The names that MakePlan() knows.
[[nodiscard]] const std::vector<std::string>& ScheduleNames();

}  // namespace millrace::pipeline
