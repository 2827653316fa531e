// A lock for a thread that holds it almost always and others that want it now and then.
#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace millrace::pipeline {

/// As a std::mutex, but who waits gets it before whoever had it gets it again. Costs a second lock
/// that nobody holds for long.
class ABSL_LOCKABLE TurnLock {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const std::lock_guard turn(turn_);
    held_.lock();
  }
  void unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { held_.unlock(); }

 private:
  std::mutex turn_;  // Whose turn is next.
  std::mutex held_;
};

}  // namespace millrace::pipeline
