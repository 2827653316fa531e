// Reads files that somebody else has named: none of them keeps the program waiting or takes its
// memory.
//
// A pipe without a writer never opens, and a device such as /dev/zero never ends. So only regular
// files are opened, without waiting, and no more of them is read than the caller allows.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace millrace {

/// More than any file that people write by hand.
inline constexpr std::uint64_t kMostFileBytes = 64 << 20;

/// A regular file that is open for reading. Its messages say the cause alone: NamingFile() adds
/// which file. Not thread-safe.
class RegularFile {
 public:
  /// Opens `path`, or what it is a link to. NOT_FOUND if there is none, PERMISSION_DENIED if it may
  /// not be read, INVALID_ARGUMENT if it is a folder, pipe, socket or device.
  [[nodiscard]] static absl::StatusOr<RegularFile> Open(const std::string& path);

  /// What the file was when it was opened.
  [[nodiscard]] const struct stat& info() const { return info_; }
  /// Reads to the end. INVALID_ARGUMENT if that is more than `most_bytes`.
  [[nodiscard]] absl::StatusOr<std::string> Read(std::uint64_t most_bytes) const;
  /// Open as long as this is.
  [[nodiscard]] int descriptor() const { return descriptor_.value(); }

 private:
  RegularFile(Descriptor descriptor, const struct stat& info)
      : descriptor_(std::move(descriptor)), info_(info) {}

  Descriptor descriptor_;
  struct stat info_;
};

/// With the file's name in its words, if it says the cause alone; OK as it is.
[[nodiscard]] absl::Status NamingFile(const absl::Status& cause, const std::string& path);

/// The whole file. Fails as RegularFile does; the message says the cause alone.
[[nodiscard]] absl::StatusOr<std::string> ContentOf(const std::string& path,
                                                    std::uint64_t most_bytes);

/// The same; the message names the file.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path,
                                                   std::uint64_t most_bytes = kMostFileBytes);

/// The same of one that may also be a pipe or a device, such as /dev/stdin: for what the user
/// names on the command line. DEADLINE_EXCEEDED if a pipe says nothing for `patience`.
[[nodiscard]] absl::StatusOr<std::string> ReadFileOrPipe(const std::string& path,
                                                         std::uint64_t most_bytes,
                                                         std::chrono::milliseconds patience);

}  // namespace millrace
