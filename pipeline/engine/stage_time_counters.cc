#include "pipeline/engine/stage_time_counters.h"

#include "base/check.h"

namespace millrace::pipeline {

void StageTimeCounters::Add(const Step& step, nanoseconds took) {
  Sums& sums = times_.at(step.stage - 1);
  const bool predicts = step.kind == OperationKind::kForward;
  (predicts ? sums.predicting : sums.learning).fetch_add(took.count(), std::memory_order_relaxed);
}

std::vector<StageTime> StageTimeCounters::Of(std::size_t stages) const {
  MILLRACE_CHECK(stages <= times_.size());
  std::vector<StageTime> result;
  result.reserve(stages);
  for (std::size_t i = 0; i < stages; ++i) {
    result.push_back({.predicting = nanoseconds(times_[i].predicting.load()),
                      .learning = nanoseconds(times_[i].learning.load())});
  }
  return result;
}

}  // namespace millrace::pipeline
