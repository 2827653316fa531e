// The identity of frame counts, as a check.
#pragma once

#include "service/frames/frame_counts.h"

namespace millrace::service {

/// Whether every received frame is predicted, dropped or in flight.
[[nodiscard]] inline bool Balanced(const FrameCounts& counts) {
  return counts.received == counts.predicted + counts.dropped_in_all() + counts.in_flight;
}

}  // namespace millrace::service
