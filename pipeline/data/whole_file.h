// Reads the content of a file that may be compressed.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// The whole file at `path`, uncompressed if it is in gzip format. Fails with NOT_FOUND if it does
/// not exist. Fails with INVALID_ARGUMENT, naming the file, if it cannot be read, is damaged or
/// truncated, or holds more than 1 GiB.
[[nodiscard]] absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace millrace::pipeline
