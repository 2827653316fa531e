// PARTIME (Meloni et al., "PARTIME: scalable and parallel processing over time with deep neural
// networks", eq. 7 to 11 and Algorithm 1). In every period each stage goes forward, goes backward
// and updates, on its neighbours' results of the period before. Its backward multiplies the
// gradient of sample t with the activations of its newest sample, t + 2(D-h). Eq. 10 mixes two
// instants at the last stage; there we follow Algorithm 1.
//
//   period   stage 1          stage 2          stage 3
//        2   F1(2)            F2(1)            F3(0) B3(0) U3(0)
//        3   F1(3)            F2(2) B2(0) U2   F3(1) B3(1) U3(1)
//        4   F1(4) B1(0) U1   F2(3) B2(1) U2   F3(2) B3(2) U3(2)
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> Partime(const ScheduleRequest& request) {
  const int stages = request.shape.stages;
  std::vector<StageTiming> timings;
  for (int stage = 1; stage <= stages; ++stage) {
    const int lead = 2 * (stages - stage);
    timings.push_back({.forward_shift = stage - 1,
                       .backward_shift = stage - 1 + lead,
                       .rules = {.lead = lead, .slots = 1}});
  }
  return Phases{{OneDeviceAStage("partime", request.shape, timings)}};
}

}  // namespace millrace::pipeline
