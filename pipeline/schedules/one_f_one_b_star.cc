// 1F1B*(T) (Beaumont, Eyraud-Dubois and Shilova, "Pipelined model parallelism: complexity results
// and memory considerations", Algorithm 1). From the last stage backwards, stages form groups that
// fit into T. Inside a group, a sample goes forward and back in one period. A group runs one period
// ahead of the next. The plan keeps as few activations as any 1-periodic plan can (Theorem 3), so
// it has the least staleness.
//
//   two groups: stages 1 and 2 | stage 3
//   period   stage 1              stage 2              stage 3
//        1   F1(1) B1(0) U1       F2(1) B2(0) U2       F3(0) B3(0) U3
//        2   F1(2) B1(1) U1       F2(2) B2(1) U2       F3(1) B3(1) U3
//
// Updates and copies take time, so the groups follow from this rule. Between the end of F_i and the
// start of B_i a sample needs at least
//
//   away_i = copy + F_{i+1} + away_{i+1} + B_{i+1} + copy,   away_D = 0,
//
// A stage that is `lag` samples ahead with its forwards has lag T for that, plus the part of one T
// that its own operations leave free. So a long copy adds only the lag that it requires. T is at
// least the longest copy, because a link carries one at a time (copies.h).
#include <algorithm>
#include <cmath>

#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {
namespace {

// Tolerance for sums of costs, compared with a period that was summed in another order.
constexpr double kRounding = 1e-9;

// The number of samples that each stage's forwards must be ahead of its backwards to keep `period`.
std::vector<int> LagsThatKeep(const std::vector<StageCost>& costs, double period) {
  std::vector<int> lags(costs.size());
  if (!(period > 0)) return lags;  // Nothing costs anything.
  double away = 0;
  for (std::size_t i = costs.size() - 1; i-- > 0;) {
    const StageCost& after = costs[i + 1];
    away += after.forward + after.backward + 2 * costs[i].copy;
    double lag = std::floor(away / period + kRounding);
    if (away - lag * period + costs[i].total() > period * (1 + kRounding)) {
      ++lag;
      away = lag * period;  // It waits for its turn.
    }
    lags[i] = static_cast<int>(lag);
  }
  return lags;
}

}  // namespace

absl::StatusOr<Phases> OneFOneBStar(const ScheduleRequest& request) {
  const double period = std::max(request.period, MinPeriod(request.costs));
  std::vector<int> lags = LagsThatKeep(request.costs, period);
  if (request.period == kEachStageAGroup) {
    int behind = request.shape.stages;
    for (int& lag : lags) lag = std::max(lag, --behind);
  }
  std::vector<StageTiming> timings;
  timings.reserve(lags.size());
  for (int lag : lags) {
    timings.push_back({.forward_shift = lags.front() - lag,
                       .backward_shift = lags.front(),
                       .rules = {.lead = 0, .slots = lag + 1}});
  }
  return Phases{{OneDeviceAStage("one_f_one_b_star", request.shape, timings)}};
}

}  // namespace millrace::pipeline
