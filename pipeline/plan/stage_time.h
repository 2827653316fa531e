// The working time of a stage.
#pragma once

#include "base/clock.h"

namespace millrace::pipeline {

/// From the start to the end of its operations. Waiting does not count.
struct StageTime {
  /// Forwards.
  nanoseconds predicting{0};
  /// Backwards and updates, with the work around them.
  nanoseconds learning{0};

  friend bool operator==(const StageTime&, const StageTime&) = default;
};

}  // namespace millrace::pipeline
