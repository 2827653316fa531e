// Replaces a file as a whole or not at all, even if the program or the machine stops in between.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace millrace {

/// Writes `content` to a temporary file beside `path`, syncs it and renames it to `path`. On
/// failure `path` is unchanged and the temporary file is removed. The error names the file and the
/// cause.
[[nodiscard]] absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

/// Syncs `folder`, so that created and removed names in it survive a loss of power.
[[nodiscard]] absl::Status SyncFolder(const std::string& folder);

/// Checks that WriteFileAtomically() could write to `path` now. Call it before work of minutes
/// whose result goes to `path`. The error names the file and the cause.
[[nodiscard]] absl::Status CheckWritable(const std::string& path);

}  // namespace millrace
