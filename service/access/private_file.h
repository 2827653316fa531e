// Files that hold secrets.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::service {

/// What tells one version of a file from another.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileVersion&) const = default;
};

/// The version of `path` now; one of its own where there is no such file.
[[nodiscard]] FileVersion VersionOf(const std::string& path);

/// What a file holds, of at most a megabyte. `key` is the configuration's that names it, for
/// messages, which never repeat what it holds. NOT_FOUND where it cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                                        std::string_view key);

/// The same of a file that must be kept from others: INVALID_ARGUMENT, with what to do, if
/// everybody on this machine may read or write it. Its group may, as where a cluster mounts it.
[[nodiscard]] absl::StatusOr<std::string> ReadPrivateFile(const std::string& path,
                                                          std::string_view key);

}  // namespace millrace::service
