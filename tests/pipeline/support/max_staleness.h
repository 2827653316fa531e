// The staleness of a learner, for tests.
#pragma once

#include <algorithm>

#include "pipeline/learner/learner_description.h"

namespace millrace::pipeline {

/// The maximum over all stages.
inline int MaxStaleness(const LearnerDescription& learner) {
  int max = 0;
  for (const StageDescription& stage : learner.stages) max = std::max(max, stage.staleness);
  return max;
}

}  // namespace millrace::pipeline
