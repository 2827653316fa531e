// What is wrong with a configuration file, with its place, and how that is said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace millrace::service {

struct ConfigProblem {
  /// Counted from 1.
  int line = 1;
  int column = 1;
  /// The key that it is about, as "streams[0].source.uri"; of the whole file: empty.
  std::string path = {};
  std::string what = {};
};

/// OK, or `code` with one line "FILE:LINE:COLUMN: WHAT" for each, in the order of `file`. What is
/// said twice of one place is said once.
[[nodiscard]] absl::Status AsStatus(std::string_view file, std::vector<ConfigProblem> problems,
                                    absl::StatusCode code = absl::StatusCode::kInvalidArgument);

}  // namespace millrace::service
