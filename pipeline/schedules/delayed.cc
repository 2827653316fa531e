// Every gradient is equally late: D - 1 updates, in all stages, on the weights of its forward. One
// device runs all stages, so nothing is gained. It measures what lateness alone costs: a pipeline
// has stages of different lateness, and gradients that meet other weights.
//
//   period   the device (D = 3)
//        2   F1(2) F2(2) F3(2) B3(0) U3 B2(0) U2 B1(0) U1
//        3   F1(3) F2(3) F3(3) B3(1) U3 B2(1) U2 B1(1) U1
//
// It equals a loop that computes each gradient at once, and applies it from a queue of D - 1
// others. This is delayed stochastic gradient descent (Langford, Smola and Zinkevich, "Slow
// learners are fast", NIPS 2009).
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

absl::StatusOr<Phases> Delayed(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  const int delay = stages - 1;
  Plan plan{.schedule = "delayed",
            .stages = std::vector<StageRules>(stages, {.slots = delay + 1, .versions = delay + 1}),
            .channels = ChannelsOf(request.shape),
            .devices = {{}}};
  std::vector<Operation>& order = plan.devices.front();
  for (int stage = 1; stage <= stages; ++stage) order.push_back({.kind = kForward, .stage = stage});
  for (int stage = stages; stage >= 1; --stage) {
    order.push_back({.kind = kBackward,
                     .stage = stage,
                     .shift = delay,
                     .weights = {.which = WeightsRead::Which::kForward}});
    order.push_back({.kind = kUpdate, .stage = stage, .shift = delay});
  }
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
