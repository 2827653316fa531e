// A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <string>
#include <vector>

#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// What is shown together: what was planned, or what happened. Several lie one below the other.
struct TraceProcess {
  /// Of letters, digits and simple punctuation: it is not escaped.
  std::string name;
  std::vector<TimelineEvent> events;
  std::vector<CopyEvent> copies = {};
};

/// A JSON array of complete events: a process each, with a track for each device and, where copies
/// take time, one for what it sends. `unit_us` is one unit of the events' time in microseconds.
[[nodiscard]] std::string ChromeTrace(const std::vector<TraceProcess>& processes, double unit_us);

}  // namespace millrace::pipeline
