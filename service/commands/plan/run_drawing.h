// Pictures of a run beside its plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/timeline/timeline_event.h"

namespace millrace::service {

/// A run, as a RunRecorder saw it.
struct RecordedRun {
  std::string schedule;
  pipeline::Phases phases;
  /// Of the stream.
  std::int64_t samples = 0;
  std::vector<pipeline::TimelineEvent> events;
  /// Operations that are not among them: they came later.
  std::int64_t left_out = 0;
};

/// An SVG of the middle of the run: two rows a device, what it should have done, simulated with the
/// costs of this run, and what it did.
[[nodiscard]] absl::StatusOr<std::string> RunSvg(const RecordedRun& run);

/// All of it, for Perfetto, as two processes: "plan" and "run".
[[nodiscard]] absl::StatusOr<std::string> RunTrace(const RecordedRun& run);

}  // namespace millrace::service
