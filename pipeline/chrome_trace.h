// A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <string>
#include <vector>

#include "pipeline/timeline_event.h"

namespace millrace::pipeline {

/// A JSON array of complete events, a track for each device and, where copies take time, one for
/// what it sends. `unit_us` is one unit of the events' time in microseconds.
[[nodiscard]] std::string ChromeTrace(const std::vector<TimelineEvent>& events,
                                      const std::vector<CopyEvent>& copies, double unit_us);

}  // namespace millrace::pipeline
