// k-periodic 1F1B (Beaumont et al., Theorem 4 and figure 7): the standard pattern without idle
// time, but without every (k+1)-th sample. With k < D it keeps fewer activations than any
// 1-periodic pattern of its rate: NCA of stage 1 is k instead of D. The price is the rate: k
// samples in k + 1 periods.
//
//   k = 2, 3 stages     slot 0   1       2           3        4         5
//     stage 1           F0       F1      B0          F2 B1    F3        B2
//     stage 2                    F0      F1 B0       B1       F2        F3 B2
//     stage 3                            F0 B0       F1 B1              F2 B2
#include <algorithm>

#include "base/status.h"
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

using enum OperationKind;

absl::StatusOr<Phases> KPeriodic(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  const int samples = request.samples > 0 ? request.samples : std::max(1, stages - 1);
  MILLRACE_RETURN_IF_ERROR(CheckOption("k_periodic", "samples", samples, 1, 10'000));
  Plan plan{.schedule = "k_periodic",
            .samples_per_pattern = samples,
            .stages = std::vector<StageRules>(stages),
            .channels = ChannelsOf(request.shape),
            .devices = {}};
  for (int stage = 1; stage <= stages; ++stage) {
    std::vector<Slotted> slotted;
    for (int sample = 0; sample < samples; ++sample) {
      const int forward = sample + stage - 1;
      const int backward = sample + stages - 1;
      slotted.push_back({forward, {.kind = kForward, .stage = stage, .first = sample}});
      slotted.push_back({backward, {.kind = kBackward, .stage = stage, .first = sample}});
      slotted.push_back({backward, {.kind = kUpdate, .stage = stage, .first = sample}});
    }
    std::stable_partition(slotted.begin(), slotted.end(),
                          [](const Slotted& s) { return s.operation.kind == kForward; });
    plan.devices.push_back(OrderBySlots(std::move(slotted), samples + 1));
  }
  SizeStages(plan);
  return Phases{{std::move(plan)}};
}

}  // namespace millrace::pipeline
