// Locks a folder for one process.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Holds a folder until the destructor or the end of the process, even after a crash. Leaves no
/// file in the folder.
class FolderLock {
 public:
  /// Fails with FAILED_PRECONDITION if another owner, in this or another process, holds it. Fails
  /// with the system's error if the folder does not exist.
  [[nodiscard]] static absl::StatusOr<FolderLock> Take(const std::string& folder);

  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace millrace::pipeline
