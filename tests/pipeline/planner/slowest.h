// The load that decides how fast a pipeline is.
#pragma once

#include <algorithm>
#include <vector>

#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// The largest load of all stages and links. A link carries one copy at a time each way.
[[nodiscard]] inline double Slowest(const std::vector<StageCost>& stages) {
  double slowest = 0;
  for (const StageCost& stage : stages) {
    const bool last = &stage == &stages.back();
    slowest = std::max({slowest, stage.total(), last ? 0.0 : stage.copy});
  }
  return slowest;
}

}  // namespace millrace::pipeline
