// The content of a file that may be compressed.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// All of the file at `path`, uncompressed if it is gzip's. NOT_FOUND if there is none;
/// INVALID_ARGUMENT, naming it, if it cannot be read, is damaged or cut short, or holds more than
/// 1 GiB.
[[nodiscard]] absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace millrace::pipeline
