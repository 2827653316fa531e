// 1F1B* with split backwards (B and W of Qi, Wan, Huang and Lin, "Zero bubble pipeline
// parallelism"). A stage hands its gradient on before it computes those of its weights. If the
// gradient comes late in the period, it computes those of the sample before while it waits.
//
//   F, B and W take 1 each, a period 4         updates between F(t) and the update by t
//   stage 1   F(2) W(0) U B(1)   F(3) W(1) U B(2)   2
//   stage 2   F(2) B(1) W(1) U   F(3) B(2) W(2) U   1
//   stage 3   F(1) W(0) U B(1)   F(2) W(1) U B(2)   1
//   stage 4   F(1) B(1) W(1) U   F(2) B(2) W(2) U   0
#include "pipeline/schedules/min_lags.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> OneFOneBOneW(const ScheduleRequest& request) {
  return Phases{{OneDeviceAStage("one_f_one_b_one_w", request.shape,
                                 MinLags(request.costs, request.period,
                                         /*splits_backwards=*/true))}};
}

}  // namespace millrace::pipeline
