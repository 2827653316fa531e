#include "pipeline/stages/follow_leader.h"

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/stages/admissions.h"

namespace millrace::pipeline {

absl::Status FollowLeader(NetworkRun& run, const RankWires& ranks) {
  AdmissionReceiver admissions(ranks);
  while (true) {
    // Ends a phase before the next sample, as the leader does: that sample comes only afterwards.
    MILLRACE_RETURN_IF_ERROR(run.AwaitRoom());
    MILLRACE_ASSIGN_OR_RETURN(const auto next, admissions.Next());
    if (!next) return run.Drain();
    if (next->sample != run.next_sample()) {
      return absl::DataLossError(absl::StrCat("the leader admitted sample ", next->sample,
                                              "; the next one here is ", run.next_sample()));
    }
    MILLRACE_RETURN_IF_ERROR(run.Admit([&] { return next->input; }).status());
  }
}

}  // namespace millrace::pipeline
