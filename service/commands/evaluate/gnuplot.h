// Runs gnuplot.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace millrace::service {

/// FAILED_PRECONDITION, saying how to get it, unless gnuplot can be run: for a caller about to work
/// for minutes.
[[nodiscard]] absl::Status CheckGnuplot();

/// Runs the commands of `file` in `folder`, where they leave what they draw. Fails with what
/// gnuplot said.
[[nodiscard]] absl::Status RunGnuplot(const std::string& folder, const std::string& file);

}  // namespace millrace::service
