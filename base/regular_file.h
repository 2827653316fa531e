// Reads files whose names come from outside, without blocking and within a memory limit.
//
// Opening a pipe without a writer blocks, and a device such as /dev/zero has no end. So Open()
// accepts only regular files and does not wait. A read stops at the caller's limit.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace {

/// The default limit: more than any file that people write by hand.
inline constexpr std::uint64_t kMaxFileBytes = 64 << 20;

/// A regular file that is open for reading. Its error messages give only the cause; NamingFile()
/// adds the file's name. Not thread-safe.
class RegularFile {
 public:
  /// Opens `path` and follows links. NOT_FOUND if it does not exist, PERMISSION_DENIED if it may
  /// not be read, INVALID_ARGUMENT if it is a folder, pipe, socket or device.
  [[nodiscard]] static absl::StatusOr<RegularFile> Open(const std::string& path);

  /// The file's status at the time of Open().
  [[nodiscard]] const struct stat& info() const { return info_; }
  /// Reads to the end. INVALID_ARGUMENT if the file has more than `max_bytes`.
  [[nodiscard]] absl::StatusOr<std::string> Read(std::uint64_t max_bytes) const;
  /// The descriptor. Valid during the lifetime of this object.
  [[nodiscard]] int descriptor() const { return descriptor_.value(); }

 private:
  RegularFile(Descriptor descriptor, const struct stat& info)
      : descriptor_(std::move(descriptor)), info_(info) {}

  Descriptor descriptor_;
  struct stat info_;
};

/// Adds `path` to an error message that gives only the cause. OK stays OK.
[[nodiscard]] absl::Status NamingFile(const absl::Status& cause, const std::string& path);

/// Reads the whole file. Fails as RegularFile does; the message gives only the cause.
[[nodiscard]] absl::StatusOr<std::string> ContentOf(const std::string& path,
                                                    std::uint64_t max_bytes);

/// As ContentOf(), but the message names the file.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path,
                                                   std::uint64_t max_bytes = kMaxFileBytes);

/// As ReadFile(), but accepts also a pipe or a device such as /dev/stdin. For files that the user
/// names on the command line. DEADLINE_EXCEEDED if a pipe delivers no data for `patience`.
[[nodiscard]] absl::StatusOr<std::string> ReadFileOrPipe(const std::string& path,
                                                         std::uint64_t max_bytes,
                                                         std::chrono::milliseconds patience);

}  // namespace millrace
