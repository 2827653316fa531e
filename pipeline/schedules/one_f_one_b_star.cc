// 1F1B*(T) (Beaumont, Eyraud-Dubois and Shilova, "Pipelined model parallelism: complexity results
// and memory considerations", Algorithm 1): from the last stage backwards, stages are put into
// groups that fit into T; inside a group a sample goes forward and back in one period, and a group
// runs one period ahead of the next. It keeps as few activations as any 1-periodic plan can
// (Theorem 3), and so has the least staleness.
//
//   two groups: stages 1 and 2 | stage 3
//   period   stage 1              stage 2              stage 3
//        1   F1(1) B1(0) U1       F2(1) B2(0) U2       F3(0) B3(0) U3
//        2   F1(2) B1(1) U1       F2(2) B2(1) U2       F3(1) B3(1) U3
//
// Where updates and copies take time, a group fits when for each of its stages the forwards, the
// backwards and the copies both ways from it to the group's end, plus its own update, take at most
// T: the stages after it update while it still goes backward. A single stage always makes a group.
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {
namespace {

// The group of each stage, counted from the camera. Groups are made from the last stage backwards.
std::vector<int> GroupsThatFit(const std::vector<StageCost>& costs, double period) {
  std::vector<int> from_the_end(costs.size());
  int group = 0;
  double there_and_back = 0;
  for (int i = static_cast<int>(costs.size()) - 1; i >= 0; --i) {
    const double alone = costs[i].forward + costs[i].backward;
    const bool first_of_all = i + 1 == static_cast<int>(costs.size());
    const double with = there_and_back + alone + 2 * costs[i].copy;
    if (!first_of_all && with + costs[i].update <= period) {
      there_and_back = with;
    } else {
      if (!first_of_all) ++group;
      there_and_back = alone;
    }
    from_the_end[i] = group;
  }
  for (int& g : from_the_end) g = group - g;
  return from_the_end;
}

}  // namespace

absl::StatusOr<Phases> OneFOneBStar(const ScheduleRequest& request) {
  const double period = request.period > 0 ? request.period : LeastPeriod(request.costs);
  const std::vector<int> groups = GroupsThatFit(request.costs, period);
  std::vector<StageTiming> timings;
  for (int group : groups) {
    const int lag = groups.back() - group;
    timings.push_back({.forward_shift = group,
                       .backward_shift = groups.back(),
                       .rules = {.lead = 0, .slots = lag + 1}});
  }
  return Phases{{OneDeviceAStage("one_f_one_b_star", request.shape, timings)}};
}

}  // namespace millrace::pipeline
