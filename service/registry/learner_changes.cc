#include "service/registry/learner_changes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "service/access/peer_address.h"

namespace millrace::service {

absl::Status SetMode(const ServedStream& served, LearnerState mode, const std::string& client) {
  const LearnerState before = served.stream->Snapshot().learner_state;
  MILLRACE_RETURN_IF_ERROR(served.stream->SetMode(mode));
  if (before != mode) {
    LogChange(client, served.stream->config().name,
              absl::StrCat("set the learner from ", std::string(Name(before)), " to ",
                           std::string(Name(mode))));
  }
  return absl::OkStatus();
}

std::string RateChange(double before, double after) {
  return absl::StrFormat("set learning_rate from %g to %g", before, after);
}

}  // namespace millrace::service
