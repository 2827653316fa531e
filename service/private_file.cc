#include "service/private_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::service {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

absl::Status Unreadable(const std::string& path, std::string_view key, int error) {
  return absl::NotFoundError(absl::StrCat(
      std::string(key), ": ", path, " cannot be read: ", std::generic_category().message(error)));
}

/// Somebody may have written the secret itself where its file is to be named: it is not repeated.
absl::Status NoPrivateFile(std::string_view key, int error) {
  return absl::NotFoundError(
      absl::StrCat(std::string(key), ": the file that it names cannot be read: ",
                   std::generic_category().message(error), "; it takes the path of a file"));
}

absl::Status CheckKind(const struct stat& info, const std::string& path, std::string_view key) {
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  if (S_ISDIR(info.st_mode)) return Unreadable(path, key, EISDIR);
  return absl::NotFoundError(
      absl::StrCat(std::string(key), ": ", path, " is a pipe, socket or device; name a file"));
}

/// Opens `path` without waiting: a pipe that nobody writes to would be waited for without end.
File Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return {nullptr, &std::fclose};
  File file(fdopen(descriptor, "rb"), &std::fclose);
  if (file == nullptr) close(descriptor);
  return file;
}

absl::Status CheckPrivate(const struct stat& info, const std::string& path, std::string_view key) {
  if ((info.st_mode & (S_IROTH | S_IWOTH)) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(key), ": ", path,
      " is open to everybody on this machine, and what it holds is secret: chmod 600 ", path));
}

absl::StatusOr<std::string> Read(const std::string& path, std::string_view key, bool secret) {
  const File file = Open(path);
  struct stat info = {};
  if (file == nullptr || fstat(fileno(file.get()), &info) != 0) {
    return secret ? NoPrivateFile(key, errno) : Unreadable(path, key, errno);
  }
  MILLRACE_RETURN_IF_ERROR(CheckKind(info, path, key));
  if (absl::Status kept = secret ? CheckPrivate(info, path, key) : absl::OkStatus(); !kept.ok()) {
    return kept;
  }
  std::string text(kMostBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return Unreadable(path, key, EIO);
  if (text.size() > kMostBytes) return Unreadable(path, key, EFBIG);
  return text;
}

}  // namespace

FileVersion VersionOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .changed_ns = info.st_ctim.tv_sec * kNanosecondsPerSecond + info.st_ctim.tv_nsec};
}

absl::StatusOr<std::string> ReadNamedFile(const std::string& path, std::string_view key) {
  return Read(path, key, /*secret=*/false);
}

absl::StatusOr<std::string> ReadPrivateFile(const std::string& path, std::string_view key) {
  return Read(path, key, /*secret=*/true);
}

}  // namespace millrace::service
