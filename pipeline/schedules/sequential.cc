// One sample at a time: the reference. No stage starts a sample before all stages have learned from
// the one before.
//
//   stage 1   F0       B0 U0 F1       B1 U1
//   stage 2      F0 B0 U0       F1 B1 U1
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> Sequential(const ScheduleRequest& request) {
  const std::vector<StageTiming> timings(request.shape.stages);
  return Phases{{OneDeviceAStage("sequential", request.shape, timings)}};
}

}  // namespace millrace::pipeline
