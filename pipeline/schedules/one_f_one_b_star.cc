// 1F1B*(T) (Beaumont, Eyraud-Dubois and Shilova, "Pipelined model parallelism: complexity results
// and memory considerations", Algorithm 1). From the last stage backwards, stages form groups that
// fit into T. Inside a group, a sample goes forward and back in one period. A group runs one period
// ahead of the next. The plan keeps as few activations as any 1-periodic plan of F and B can
// (Theorem 3), so it has the least staleness of them.
//
//   two groups: stages 1 and 2 | stage 3
//   period   stage 1              stage 2              stage 3
//        1   F1(1) B1(0) U1       F2(1) B2(0) U2       F3(0) B3(0) U3
//        2   F1(2) B1(1) U1       F2(2) B2(1) U2       F3(1) B3(1) U3
//
// Updates and copies take time too, so the groups follow from a rule for single stages
// (min_lags.h). So a long copy adds only the lag that it requires. T is at least the longest
// copy, because a link carries one at a time (copies.h).
#include "pipeline/schedules/min_lags.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> OneFOneBStar(const ScheduleRequest& request) {
  return Phases{
      {OneDeviceAStage("one_f_one_b_star", request.shape,
                       MinLags(request.costs, request.period, /*splits_backwards=*/false))}};
}

}  // namespace millrace::pipeline
