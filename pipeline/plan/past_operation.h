// What a pipeline has just done: what traces of a running server are made from.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// One operation, as it was. Samples are numbered as in the stream.
struct PastOperation {
  std::size_t device = 0;
  Step step;
  /// On the monotonic clock. Of work on a GPU: of its launch.
  nanoseconds start{0};
  nanoseconds end{0};
};

}  // namespace millrace::pipeline
