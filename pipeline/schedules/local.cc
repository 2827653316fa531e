// Local learning: activations go forward from stage to stage, and no gradient comes back. Every
// stage learns at once from its own loss, on its own output. So no stage waits for another stage's
// gradient, no stage keeps activations, and no weights are stale. After the local propagation of
// Marra et al. and the layer-wise losses of MADNet.
//
//   period   stage 1           stage 2           stage 3
//        1   F1(1) B1(1) U1    F2(0) B2(0) U2
//        2   F1(2) B1(2) U1    F2(1) B2(1) U2    F3(0) B3(0) U3
#include <utility>

#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> Local(const ScheduleRequest& request) {
  std::vector<StageTiming> timings;
  for (int stage = 1; stage <= request.shape.stages; ++stage) {
    timings.push_back({.forward_shift = stage - 1,
                       .backward_shift = stage - 1,
                       .rules = {.gradient = GradientFrom::kOwnLoss}});
  }
  Plan plan = OneDeviceAStage("local", request.shape, timings);
  // Every loss reads the sample. The first and the last stage already have a channel from the
  // camera.
  for (int stage = 2; stage < request.shape.stages; ++stage) {
    plan.channels.push_back({.from = 0, .to = stage, .slots = 2 * stage});
  }
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
