// Pictures of a run beside its plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/timeline/timeline_event.h"

namespace millrace::service {

/// A recorded run.
struct RecordedRun {
  std::string schedule;
  pipeline::Phases phases;
  /// The number of samples in the stream.
  std::int64_t samples = 0;
  std::vector<pipeline::TimelineEvent> events;
  /// The number of later operations that were not recorded.
  std::int64_t left_out = 0;
};

/// An SVG of the middle of the run, with two rows per device: the plan, simulated with this run's
/// costs, and the run.
[[nodiscard]] absl::StatusOr<std::string> RunSvg(const RecordedRun& run);

/// The whole run for Perfetto, as two processes: "plan" and "run".
[[nodiscard]] absl::StatusOr<std::string> RunTrace(const RecordedRun& run);

}  // namespace millrace::service
