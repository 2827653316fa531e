// A fair mutex, for a thread that holds it most of the time and other threads that need it rarely.
#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace millrace::pipeline {

/// Like std::mutex, but fair: a waiter acquires it before the previous holder can re-acquire it.
/// Implemented with a second, short-lived lock.
class ABSL_LOCKABLE FairMutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const std::lock_guard turn(turn_);
    held_.lock();
  }
  void unlock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { held_.unlock(); }

 private:
  std::mutex turn_;  // Held by the next thread to acquire `held_`.
  std::mutex held_;
};

}  // namespace millrace::pipeline
