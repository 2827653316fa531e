#include "tests/pipeline/schedules/version_difference.h"

#include <algorithm>

#include "base/status.h"
#include "pipeline/plan/simulator.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {

using enum OperationKind;

absl::StatusOr<int> CountVersionDifference(const Plan& plan) {
  const int k = plan.samples_per_pattern;
  const int patterns = 4 * (MaxShift(plan) + plan.stage_count() + 4);
  SimulationOptions options{.costs = std::vector<StageCost>(plan.stage_count()),
                            .arrivals = std::vector<double>(std::size_t{1} * patterns * k, 0.0)};
  options.vary = [](const Step& step, double /*cost*/) { return step.kind == kUpdate ? 0.0 : 1.0; };
  MILLRACE_ASSIGN_OR_RETURN(const Timeline timeline, Simulate(plan, options));

  const auto learned_at = [&](int pattern) {
    double at = 0;
    for (int stage = 1; stage <= plan.stage_count(); ++stage) {
      at = std::max(at, timeline.of(kUpdate, stage).at(std::size_t{1} * pattern * k).end);
    }
    return at;
  };
  int difference = 0;
  for (int pattern = patterns / 2; pattern < patterns / 2 + 8; ++pattern) {
    double begins =
        timeline.of(kBackward, plan.stage_count()).at(std::size_t{1} * pattern * k).start;
    for (int sample = 1; sample < k; ++sample) {
      begins = std::min(begins, timeline.of(kBackward, plan.stage_count())
                                    .at(std::size_t{1} * pattern * k + sample)
                                    .start);
    }
    int newest = pattern - 1;
    while (newest >= 0 && learned_at(newest) > begins) --newest;
    difference = std::max(difference, pattern - newest);
  }
  return difference;
}

}  // namespace millrace::pipeline
