// Writes a timeline for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <string>
#include <vector>

#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// The events of one group: a plan, or a run. Viewers show several groups below each other.
struct TraceProcess {
  /// Letters, digits and simple punctuation only: it is not escaped.
  std::string name;
  std::vector<TimelineEvent> events;
  std::vector<CopyEvent> copies = {};
};

/// A JSON array of complete events. Each process has a track for each device and, where copies take
/// time, one for the copies that the device sends. `unit_us` is the events' unit of time in
/// microseconds.
[[nodiscard]] std::string ChromeTrace(const std::vector<TraceProcess>& processes, double unit_us);

}  // namespace millrace::pipeline
