// 1F1B* with a split backward (W of Qi, Wan, Huang and Lin, "Zero bubble pipeline parallelism"). A
// stage hands its gradient on before it computes those of its weights. It does so behind the
// backward. If the gradient comes late in the period, it does so one period later, before the next
// backward. At full load no lag is shorter than in one_f_one_b_star.
//
//   F, B and W take 1 each, a period 4
//   stage 1   F(1) B(0) W(0) U   F(2) B(1) W(1) U   F(3) B(2) W(2) U      staleness 1
//   stage 2   F(1) W(-1) U B(0)  F(2) W(0) U B(1)   F(3) W(1) U B(2)      0, and gradient age 1
//   stage 3        F(0) B(0) W(0) U   F(1) B(1) W(1) U   F(2) B(2)        0: it is the last
#include <algorithm>
#include <cmath>

#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {
namespace {

constexpr double kRounding = 1e-9;  // Tolerance for sums of costs, as a share of the period.

}  // namespace

absl::StatusOr<Phases> OneFOneBOneW(const ScheduleRequest& request) {
  const double period = std::max(request.period, MinPeriod(request.costs));
  std::vector<StageTiming> timings(request.shape.stages);
  double away = 0;  // From the end of a sample's forward to its gradient.
  for (std::size_t i = timings.size(); i-- > 0 && period > 0;) {
    const StageCost& cost = request.costs[i];
    const double input = cost.input_gradient();
    const double rest = cost.weight_gradient + cost.update;
    const double limit = period * (1 + kRounding) - input;
    int lag = static_cast<int>(std::floor((cost.forward + away) / period + kRounding));
    double at = std::max(cost.forward + away - lag * period, cost.forward);
    const bool late = at + rest > limit && std::max(at, cost.forward + rest) <= limit;
    if (late) at = std::max(at, cost.forward + rest);
    if (!late && at + rest > limit) {
      ++lag;  // The gradient waits for the next period.
      at = cost.forward;
    }
    timings[i] = {.forward_shift = -lag,
                  .rules = {.splits_backward = true},
                  .weight_gradient_shift = late ? 1 : 0};
    away = lag * period + at + input + (i > 0 ? 2 * request.costs[i - 1].copy : 0);
  }
  const int lag = -timings.front().forward_shift;
  for (StageTiming& timing : timings) {
    timing.forward_shift += lag;
    timing.backward_shift += lag;
    timing.weight_gradient_shift += lag;
  }
  Plan plan = OneDeviceAStage("one_f_one_b_one_w", request.shape, timings);
  SizeStages(plan);
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
