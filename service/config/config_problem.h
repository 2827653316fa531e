// One error of a configuration file, with its place, and the message made from such errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace millrace::service {

struct ConfigProblem {
  /// Line and column count from 1.
  int line = 1;
  int column = 1;
  /// The key with the error, such as "streams[0].source.uri". Empty: the whole file.
  std::string path = {};
  std::string what = {};
};

/// OK, or `code` with one line "FILE:LINE:COLUMN: WHAT" for each problem, in the order of the file.
/// Duplicate messages at one place are merged.
[[nodiscard]] absl::Status AsStatus(std::string_view file, std::vector<ConfigProblem> problems,
                                    absl::StatusCode code = absl::StatusCode::kInvalidArgument);

}  // namespace millrace::service
