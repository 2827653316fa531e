#include "base/regular_file.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace {
namespace {

constexpr std::size_t kPartBytes = 1 << 16;

absl::Status Cause(int error) {
  return {absl::ErrnoToStatusCode(error), std::generic_category().message(error)};
}

absl::Status Folder() { return absl::InvalidArgumentError("it is a folder, not a file"); }

absl::Status NoRegularFile() {
  return absl::InvalidArgumentError("it is a pipe, socket or device; name a file");
}

absl::Status TooMuch(std::uint64_t max_bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("it holds more than the ", max_bytes, " bytes that such a file may have"));
}

Descriptor OpenWithoutWaiting(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/// Waits for data or for the end.
absl::Status Await(int descriptor, std::chrono::milliseconds patience) {
  pollfd ready = {.fd = descriptor, .events = POLLIN, .revents = 0};
  const int count = ::poll(&ready, 1, static_cast<int>(patience.count()));
  if (count > 0 || (count < 0 && errno == EINTR)) return absl::OkStatus();
  if (count < 0) return Cause(errno);
  return absl::DeadlineExceededError(absl::StrCat("it is a pipe, and nothing came through it for ",
                                                  std::chrono::duration<double>(patience).count(),
                                                  " s"));
}

/// Appends to `content`, whose capacity the caller has reserved. A regular file is always ready, so
/// `patience` matters only for pipes.
absl::StatusOr<std::string> ReadToEnd(int descriptor, std::uint64_t max_bytes,
                                      std::chrono::milliseconds patience,
                                      std::string content = {}) {
  std::array<char, kPartBytes> part;
  while (content.size() <= max_bytes) {
    MILLRACE_RETURN_IF_ERROR(Await(descriptor, patience));
    const ssize_t got = ::read(descriptor, part.data(), part.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return errno == EISDIR ? Folder() : Cause(errno);
    if (got == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(got));
  }
  return TooMuch(max_bytes);
}

}  // namespace

absl::StatusOr<RegularFile> RegularFile::Open(const std::string& path) {
  Descriptor descriptor = OpenWithoutWaiting(path);
  struct stat info = {};
  if (descriptor.value() < 0 && errno == ENXIO) return NoRegularFile();  // ENXIO: it is a socket.
  if (descriptor.value() < 0 || ::fstat(descriptor.value(), &info) != 0) return Cause(errno);
  if (S_ISDIR(info.st_mode)) return Folder();
  if (!S_ISREG(info.st_mode)) return NoRegularFile();
  return RegularFile(std::move(descriptor), info);
}

absl::StatusOr<std::string> RegularFile::Read(std::uint64_t max_bytes) const {
  if (static_cast<std::uint64_t>(info_.st_size) > max_bytes) return TooMuch(max_bytes);
  std::string content;
  content.reserve(static_cast<std::size_t>(info_.st_size));
  return ReadToEnd(descriptor_.value(), max_bytes, std::chrono::milliseconds(0),
                   std::move(content));
}

absl::Status NamingFile(const absl::Status& cause, const std::string& path) {
  if (cause.ok()) return cause;
  return {cause.code(), absl::StrCat(path, " cannot be read: ", cause.message())};
}

absl::StatusOr<std::string> ContentOf(const std::string& path, std::uint64_t max_bytes) {
  MILLRACE_ASSIGN_OR_RETURN(const RegularFile file, RegularFile::Open(path));
  return file.Read(max_bytes);
}

absl::StatusOr<std::string> ReadFile(const std::string& path, std::uint64_t max_bytes) {
  absl::StatusOr<std::string> content = ContentOf(path, max_bytes);
  if (!content.ok()) return NamingFile(content.status(), path);
  return content;
}

absl::StatusOr<std::string> ReadFileOrPipe(const std::string& path, std::uint64_t max_bytes,
                                           std::chrono::milliseconds patience) {
  const Descriptor descriptor = OpenWithoutWaiting(path);
  absl::StatusOr<std::string> content =
      descriptor.value() < 0 ? Cause(errno) : ReadToEnd(descriptor.value(), max_bytes, patience);
  if (!content.ok()) return NamingFile(content.status(), path);
  return content;
}

}  // namespace millrace
