// Reads files that hold secrets. Error messages never repeat the contents.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Identifies one version of a file. A changed file has another version.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileVersion&) const = default;
};

/// The current version of `path`. A missing file has the default version.
[[nodiscard]] FileVersion VersionOf(const std::string& path);

/// The contents of `path`, at most one megabyte. `key` is the configuration key that names the file
/// in messages. NOT_FOUND if the file cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                                        std::string_view key);

/// Like ReadNamedFile(), for a secret. INVALID_ARGUMENT, with what to do, if every user of this
/// machine may read or write the file. Its group may do so, because clusters mount secrets that
/// way.
[[nodiscard]] absl::StatusOr<std::string> ReadPrivateFile(const std::string& path,
                                                          std::string_view key);

}  // namespace millrace::service
