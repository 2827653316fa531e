// What clients do to a learner at work, with its line in the log.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/registry/served_stream.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// As CameraStream::SetMode(). Logs, as LogChange(), that the client at the address `client` did
/// so, unless the learner was in that mode before.
[[nodiscard]] absl::Status SetMode(const ServedStream& served, LearnerState mode,
                                   const std::string& client);

/// For LogChange(): "set learning_rate from 0.0001 to 0.01".
[[nodiscard]] std::string RateChange(double before, double after);

}  // namespace millrace::service
