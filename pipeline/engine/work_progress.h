// The effect of work on the progress counters. The engine and its devices share this one
// definition.
#pragma once

#include <vector>

#include "pipeline/engine/devices.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Counts `work` as passed on a device whose operations are `order`. `Counters`: Progress or
/// SharedProgress.
template <typename Counters>
void CompleteWork(const Work& work, const std::vector<Operation>& order, Counters& counters) {
  switch (work.what) {
    case Work::What::kRun:
      counters.Complete(work.step);
      break;
    case Work::What::kSkip:
      counters.Skip(work.step);
      break;
    case Work::What::kEnd:
      for (const Operation& operation : order) counters.SkipRest(operation);
      break;
  }
}

}  // namespace millrace::pipeline
