// PipeDream-2BW (Narayanan et al., "Memory-efficient pipeline-parallel DNN training"): 1F1B, but
// one update applies the summed gradients of m >= D samples. Forwards and backwards of a group of m
// read the weights before the newest update: W(t+1) = W(t) - lr * gradient at W(t-1). So two
// versions are enough for a pipeline of any depth.
//
//   m = 2, 2 stages     slot 0       1             2             3             4
//     stage 1           F0           F1 B0         F2 B1 U       F3 B2         F4 B3 U
//     stage 2                        F0 B0         F1 B1 U       F2 B2         F3 B3 U
#include "base/status.h"
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

absl::StatusOr<Phases> Pipedream2bw(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  const int samples = request.samples > 0 ? request.samples : stages;
  MILLRACE_RETURN_IF_ERROR(CheckOption("pipedream_2bw", "samples", samples, stages, 10'000));
  // A single stage has no sample in flight at its updates: online learning.
  const WeightsRead before = {.which = WeightsRead::Which::kLag, .lag = stages > 1 ? 1 : 0};
  Plan plan{.schedule = "pipedream_2bw",
            .samples_per_pattern = samples,
            .stages = std::vector<StageRules>(stages),
            .channels = ChannelsOf(request.shape),
            .devices = {}};
  for (int stage = 1; stage <= stages; ++stage) {
    std::vector<Slotted> slotted;
    slotted.reserve(2 * samples + 1);
    for (int sample = 0; sample < samples; ++sample) {
      slotted.push_back({sample + stage - 1,
                         {.kind = kForward, .stage = stage, .first = sample, .weights = before}});
    }
    for (int sample = 0; sample < samples; ++sample) {
      slotted.push_back({sample + stages - 1,
                         {.kind = kBackward, .stage = stage, .first = sample, .weights = before}});
    }
    slotted.push_back({samples - 1 + stages - 1,
                       {.kind = kUpdate, .stage = stage, .first = 0, .count = samples}});
    plan.devices.push_back(OrderBySlots(std::move(slotted), samples));
  }
  SizeStages(plan);
  for (StageRules& rules : plan.stages) rules.versions = stages > 1 ? 2 : 1;
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
