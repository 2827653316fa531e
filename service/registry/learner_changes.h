// Changes that clients make to a running learner, each with a line in the log.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/registry/served_stream.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// Like CameraStream::SetMode(). If the mode changes, logs the change with the client's address
/// `client` (LogChange()).
[[nodiscard]] absl::Status SetMode(const ServedStream& served, LearnerState mode,
                                   const std::string& client);

/// The text for LogChange(): "set learning_rate from 0.0001 to 0.01".
[[nodiscard]] std::string RateChange(double before, double after);

}  // namespace millrace::service
