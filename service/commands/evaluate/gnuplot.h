// Runs gnuplot.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace millrace::service {

/// FAILED_PRECONDITION, with a way to install it, unless gnuplot can be run. Call it before minutes
/// of work.
[[nodiscard]] absl::Status CheckGnuplot();

/// Runs the commands of `file` in `folder`, which also gets their output files. Fails with
/// gnuplot's message.
[[nodiscard]] absl::Status RunGnuplot(const std::string& folder, const std::string& file);

}  // namespace millrace::service
