// For how long a stage has worked.
#pragma once

#include "base/clock.h"

namespace millrace::pipeline {

/// From the start to the end of its operations; waiting for them is not work.
struct StageTime {
  /// Going forward.
  nanoseconds predicting{0};
  /// Going backward and updating, with what comes with it.
  nanoseconds learning{0};

  friend bool operator==(const StageTime&, const StageTime&) = default;
};

}  // namespace millrace::pipeline
