// GPipe (Huang et al.; Kim et al., "torchgpipe"): m micro-batches go forward, then backward, the
// last one first. Then all stages update. The gradients are those of the m samples together, since
// no weight changes in between. The price is the bubble: (D-1)/(m+D-1) of the time if all stages
// are equal.
//
//   m = 3     stage 1   F0 F1 F2             B2 B1 B0 U
//             stage 2      F0 F1 F2       B2 B1 B0 U
//             stage 3         F0 F1 F2 B2 B1 B0 U
//
// Recompute "always" keeps inputs and runs forwards again. The kind "except_last" does so for all
// micro-batches but the last, whose backward follows its forward directly. The kind "never" keeps
// activations.
#include "base/status.h"
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

namespace {

constexpr int kMicroBatches = 4;

Keeps KeepsOf(Recompute recompute, bool last) {
  const bool again =
      recompute == Recompute::kAlways || (recompute == Recompute::kExceptLast && !last);
  return again ? Keeps::kInputs : Keeps::kActivations;
}

}  // namespace

absl::StatusOr<Phases> Gpipe(const ScheduleRequest& request) {
  const int samples = request.samples > 0 ? request.samples : kMicroBatches;
  MILLRACE_RETURN_IF_ERROR(CheckOption("gpipe", "samples", samples, 1, 10'000));
  Plan plan{.schedule = "gpipe",
            .samples_per_pattern = samples,
            .stages = std::vector<StageRules>(request.shape.stages, {.slots = samples}),
            .channels = ChannelsOf(request.shape),
            .devices = {}};
  for (int stage = 1; stage <= request.shape.stages; ++stage) {
    std::vector<Operation>& order = plan.devices.emplace_back();
    for (int sample = 0; sample < samples; ++sample) {
      order.push_back({.kind = kForward, .stage = stage, .first = sample});
    }
    for (int sample = samples - 1; sample >= 0; --sample) {
      order.push_back({.kind = kBackward,
                       .stage = stage,
                       .first = sample,
                       .keeps = KeepsOf(request.recompute, sample == samples - 1)});
    }
    order.push_back({.kind = kUpdate, .stage = stage, .first = 0, .count = samples});
  }
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
