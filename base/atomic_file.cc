#include "base/atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "base/status.h"

namespace millrace {
namespace {

absl::Status SystemError(const char* action, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " ", path));
}

absl::Status WriteAll(int descriptor, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

/// The name is predictable, so another process may have put a pipe or a link there. O_EXCL refuses
/// both.
absl::Status WriteAndSync(const std::string& path, std::string_view content) {
  ::unlink(path.c_str());
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.value() < 0) return SystemError("create", path);
  MILLRACE_RETURN_IF_ERROR(WriteAll(file.value(), content, path));
  if (::fsync(file.value()) != 0) return SystemError("sync", path);
  return absl::OkStatus();
}

std::string TemporaryBeside(const std::string& path) {
  return absl::StrCat(path, ".", ::getpid(), ".tmp");
}

}  // namespace

absl::Status SyncFolder(const std::string& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.value() < 0 || ::fsync(descriptor.value()) != 0) {
    return SystemError("sync", folder);
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("no name was given for the file to write");
  std::error_code unknown;  // The write below then reports the cause.
  if (std::filesystem::is_directory(path, unknown)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a folder, not a file"));
  }
  const std::string temporary = TemporaryBeside(path);
  absl::Status status = WriteAndSync(temporary, "");
  ::unlink(temporary.c_str());
  return status;
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content) {
  const std::string temporary = TemporaryBeside(path);
  absl::Status status = WriteAndSync(temporary, content);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError("write", path);
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  // The folder stores the new name, so the folder is synced too.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return SyncFolder(folder.empty() ? "." : folder.string());
}

}  // namespace millrace
