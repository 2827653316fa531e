#include "service/access/private_file.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace millrace::service {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

absl::Status Unreadable(const std::string& path, std::string_view key, const absl::Status& cause) {
  return absl::NotFoundError(
      absl::StrCat(std::string(key), ": ", path, " cannot be read: ", cause.message()));
}

/// Does not repeat the path: the user may have written the secret itself instead of a path.
absl::Status NoPrivateFile(std::string_view key, const absl::Status& cause) {
  return absl::NotFoundError(
      absl::StrCat(std::string(key), ": the file that it names cannot be read: ", cause.message(),
                   "; it takes the path of a file"));
}

absl::Status CheckPrivate(const struct stat& info, const std::string& path, std::string_view key) {
  if ((info.st_mode & (S_IROTH | S_IWOTH)) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(key), ": ", path,
      " is open to everybody on this machine, and what it holds is secret: chmod 600 ", path));
}

absl::StatusOr<std::string> Read(const std::string& path, std::string_view key, bool secret) {
  const absl::StatusOr<RegularFile> file = RegularFile::Open(path);
  // A path that exists but is no regular file cannot be the secret itself.
  if (!file.ok() && secret && !absl::IsInvalidArgument(file.status())) {
    return NoPrivateFile(key, file.status());
  }
  if (!file.ok()) return Unreadable(path, key, file.status());
  if (secret) MILLRACE_RETURN_IF_ERROR(CheckPrivate(file->info(), path, key));
  absl::StatusOr<std::string> text = file->Read(kMaxBytes);
  if (!text.ok()) return Unreadable(path, key, text.status());
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
