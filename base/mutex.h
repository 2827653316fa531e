// A std::mutex that Clang's thread-safety analysis can see.
//
// libstdc++ does not annotate std::mutex, and Debian's absl::Mutex is not built for
// ThreadSanitizer, which then reports races that do not exist. This wrapper satisfies both.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace millrace {

/// A mutual-exclusion lock. Not recursive. Name it in ABSL_GUARDED_BY on what it protects.
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }

 private:
  std::mutex mu_;
};

/// Holds a Mutex for the lifetime of a scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) { mu_.lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

/// Waits with a Mutex held: `while (!condition) ready_.wait(mu_);`. Write the loop, because the
/// analysis does not follow a predicate's lambda.
using CondVar = std::condition_variable_any;

}  // namespace millrace
