#include "pipeline/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace::pipeline {

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the folder ", folder));
  FolderLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock the folder ", folder));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the folder ", folder,
                   " is in use by another stream or server; each needs a folder of its own"));
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace millrace::pipeline
