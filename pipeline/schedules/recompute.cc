// PARTIME's order without its mismatch. A stage keeps the inputs of its last 2(D-h) + 1 samples.
// Right before a backward it runs that sample's forward again, with the current weights. The last
// stage's gradient comes at once and needs no second forward.
//
//   period   stage 1                  stage 2                  stage 3
//        3   F1(3)                    F2(2) F2(0) B2(0) U2     F3(1) B3(1) U3
//        4   F1(4) F1(0) B1(0) U1     F2(3) F2(1) B2(1) U2     F3(2) B3(2) U3
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> Recomputing(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  std::vector<StageTiming> timings;
  for (int stage = 1; stage <= stages; ++stage) {
    const int lag = 2 * (stages - stage);
    timings.push_back({.forward_shift = stage - 1,
                       .backward_shift = stage - 1 + lag,
                       .rules = {.slots = lag + 1},
                       .keeps = lag > 0 ? Keeps::kInputs : Keeps::kActivations});
  }
  return Phases{{OneDeviceAStage("recompute", request.shape, timings)}};
}

}  // namespace millrace::pipeline
