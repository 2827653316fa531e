// Keeps a folder to one process.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Holds a folder until it is destroyed or the process ends, however that comes about. Leaves
/// nothing in the folder.
class FolderLock {
 public:
  /// Fails with FAILED_PRECONDITION if another holds it, in this process or in another, and as the
  /// system says if there is no such folder.
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
