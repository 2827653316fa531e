// PipeDream (Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training"): one
// forward, one backward. Stage h is D - h samples ahead of its backwards. Each backward uses the
// weights that its forward read, so the stage holds D - h + 1 versions of them (weight stashing; no
// vertical sync).
//
//   period   stage 1              stage 2              stage 3
//        2   F1(2) B1(0) U1       F2(1) B2(0) U2       F3(0) B3(0) U3
//        3   F1(3) B1(1) U1       F2(2) B2(1) U2       F3(1) B3(1) U3
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> Pipedream(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  std::vector<StageTiming> timings;
  for (int stage = 1; stage <= stages; ++stage) {
    const int versions = stages - stage + 1;
    timings.push_back({.forward_shift = stage - 1,
                       .backward_shift = stages - 1,
                       .rules = {.slots = versions, .versions = versions},
                       .backward_weights = {.which = WeightsRead::Which::kForward}});
  }
  return Phases{{OneDeviceAStage("pipedream", request.shape, timings)}};
}

}  // namespace millrace::pipeline
