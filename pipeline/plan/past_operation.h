// The operations that a pipeline has run lately. Traces of a running server are made from them.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// One completed operation. Samples are numbered as in the stream.
struct PastOperation {
  std::size_t device = 0;
  Step step;
  /// On the monotonic clock. For work on a GPU: the time of its launch.
  nanoseconds start{0};
  nanoseconds end{0};
};

}  // namespace millrace::pipeline
