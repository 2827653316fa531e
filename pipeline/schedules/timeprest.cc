// TiMePReSt (Dutta, Chaki and De, "TiMePReSt: time and memory efficient pipeline parallel DNN
// training with removed staleness", section 4): nF1B. A mini-batch of N micro-batches goes forward
// one by one, each on the newest weights of that moment. It goes backward in one operation, on one
// version of the weights that all stages have. This is the version after the mini-batch v before.
// Where W <= N + 1 stages, v is 1 and no gradient is stale. A stage keeps inputs and runs forwards
// again, one by one.
//
//   N = 2, W = 3     0   1   2   3   4   5   6   7   8
//     stage 1        0a  0b  1a  1b  2a  2b  B0  3a  3b
//     stage 2            0a  0b  1a  1b  B0  2a  2b  B1
//     stage 3                0a  0b  B0  1a  1b  B1  2a
//
// One micro-batch is one sample here. Each stage repeats N forwards and one backward. Its forwards
// are 2(W-h) ahead of the last stage's rhythm.
#include <algorithm>

#include "base/status.h"
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

namespace {

constexpr int kMicroBatches = 4;

// The version difference at unit costs. One mini-batch goes back through all W stages, with a
// backward every N + 1 time steps. Meanwhile, this number of mini-batches starts its backward on
// the last stage. The paper's (W+N-2)/N (eq. 18) is an approximation.
int VersionDifference(int stages, int samples) { return (stages - 1) / (samples + 1) + 1; }

// The time slot of the forward of `sample` of mini-batch 0. A cycle is N forwards and a backward.
int ForwardSlot(int sample, int ahead, int samples) {
  const int place = sample - ahead;
  const int cycle = place >= 0 ? place / samples : -((samples - 1 - place) / samples);
  return cycle * (samples + 1) + (place - cycle * samples);
}

std::vector<Operation> OrderOf(int stage, int stages, int samples) {
  std::vector<Slotted> slotted;
  slotted.reserve(samples + 2);
  for (int sample = 0; sample < samples; ++sample) {
    slotted.push_back({ForwardSlot(sample, 2 * (stages - stage), samples),
                       {.kind = kForward, .stage = stage, .first = sample}});
  }
  const WeightsRead weights = {.which = WeightsRead::Which::kLag,
                               .lag = VersionDifference(stages, samples) - 1};
  slotted.push_back({samples,
                     {.kind = kBackward,
                      .stage = stage,
                      .first = 0,
                      .count = samples,
                      .keeps = Keeps::kInputs,
                      .weights = weights}});
  slotted.push_back({samples, {.kind = kUpdate, .stage = stage, .first = 0, .count = samples}});
  std::vector<Operation> order = OrderBySlots(std::move(slotted), samples + 1);
  const int newest = std::min_element(order.begin(), order.end(), [](const auto& a, const auto& b) {
                       return a.shift < b.shift;
                     })->shift;
  for (Operation& operation : order) operation.shift -= newest;
  return order;
}

}  // namespace

absl::StatusOr<Phases> Timeprest(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  const int samples = request.samples > 0 ? request.samples : kMicroBatches;
  MILLRACE_RETURN_IF_ERROR(CheckOption("timeprest", "samples", samples, 1, 10'000));
  Plan plan{.schedule = "timeprest",
            .samples_per_pattern = samples,
            .stages = std::vector<StageRules>(stages),
            .channels = ChannelsOf(request.shape),
            .devices = {}};
  for (int stage = 1; stage <= stages; ++stage) {
    plan.devices.push_back(OrderOf(stage, stages, samples));
  }
  SizeStages(plan);
  // A backward passes on the gradients of a whole mini-batch at once.
  for (Channel& channel : plan.channels) channel.gradient_slots *= samples;
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
