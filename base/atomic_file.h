// Replaces a file as a whole, or not at all, whatever happens in between.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace millrace {

/// Writes `content` to a temporary file beside `path`, syncs it and renames it to `path`. On
/// failure `path` is untouched and the temporary file removed; the error names the file and the
/// cause.
[[nodiscard]] absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

/// Makes names that were made or removed in `folder` outlast a loss of power.
[[nodiscard]] absl::Status SyncFolder(const std::string& folder);

/// Whether WriteFileAtomically() could write to `path` now: for a caller about to work for minutes.
/// The error names the file and the cause.
[[nodiscard]] absl::Status CheckWritable(const std::string& path);

}  // namespace millrace
