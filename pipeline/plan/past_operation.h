// The operations that a pipeline has run. Observers time and trace them.
#pragma once

#include <cstddef>
#include <functional>

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

/// Called with each operation after its end, on the thread of its device. `worked`: whether it did
/// any work. A backward without a valid gradient does none, for example.
using ObserveOperation = std::function<void(const PastOperation& operation, bool worked)>;

}  // namespace millrace::pipeline
