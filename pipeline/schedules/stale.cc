// Stale weights (Zhang and Abdelrahman, "Pipelined training with stale weights of deep
// convolutional neural networks", section 4.1). The order is PARTIME's, but a stage keeps the
// activations of its last 2(D-h) + 1 samples. So a gradient meets the activations of its own
// sample. Meanwhile, the weights have had 2(D-h) updates.
//
//   period   stage 1          stage 2          stage 3
//        3   F1(3)            F2(2) B2(0) U2   F3(1) B3(1) U3(1)
//        4   F1(4) B1(0) U1   F2(3) B2(1) U2   F3(2) B3(2) U3(2)
//
// With K cuts the paper uses 2K + 1 devices: every stage but the last goes forward on one and
// backward on another (separate_backwards). The numbers are the same. The forward of sample t names
// the version of the weights that it reads: the one after update t - 2(D-h) - 1.
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

namespace {

constexpr const char* kName = "stale";

std::vector<StageTiming> Timings(int stages) {
  std::vector<StageTiming> timings;
  for (int stage = 1; stage <= stages; ++stage) {
    const int lag = 2 * (stages - stage);
    timings.push_back({.forward_shift = stage - 1,
                       .backward_shift = stage - 1 + lag,
                       .rules = {.slots = lag + 1}});
  }
  return timings;
}

// Moves the backwards and updates of all stages but the last to separate devices, the last stage's
// neighbour first.
void SeparateBackwards(Plan& plan) {
  const int stages = plan.stage_count();
  for (int stage = stages - 1; stage >= 1; --stage) {
    std::vector<Operation>& order = plan.devices[stage - 1];
    plan.devices.push_back({order.begin() + 1, order.end()});
    std::vector<Operation>& forwards = plan.devices[stage - 1];
    forwards.resize(1);
    forwards[0].weights = {.which = WeightsRead::Which::kLag, .lag = 2 * (stages - stage)};
  }
}

}  // namespace

absl::StatusOr<Phases> Stale(const ScheduleRequest& request) {
  Plan plan = OneDeviceAStage(kName, request.shape, Timings(request.shape.stages));
  if (request.separate_backwards) SeparateBackwards(plan);
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
