// The kinds of optimizers, for tests of each.
#pragma once

#include <cstddef>
#include <vector>

#include "pipeline/learner/optimizer_options.h"

namespace millrace::pipeline {

inline std::vector<OptimizerOptions::Kind> AllOptimizerKinds() {
  std::vector<OptimizerOptions::Kind> kinds;
  for (std::size_t i = 0; i < OptimizerNames().size(); ++i) {
    kinds.push_back(static_cast<OptimizerOptions::Kind>(i));
  }
  return kinds;
}

}  // namespace millrace::pipeline
