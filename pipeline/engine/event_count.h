// Waiting for a condition that other threads make true by atomic stores.
//
// What is awaited in a pipeline is mostly there, or comes within microseconds, or takes a frame's
// time. So a waiter first looks for a while, then sleeps; and whoever changes something only takes
// a lock when somebody sleeps. Handing over between two busy threads costs no system call.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/mutex.h"

namespace millrace::pipeline {

/// Thread-safe. Conditions are made of sequentially consistent atomics alone, and become true by
/// stores that are followed by Notify(): then no wake-up is lost.
class EventCount {
 public:
  /// Returns once `condition()` is true.
  template <typename Condition>
  void Await(const Condition& condition) ABSL_LOCKS_EXCLUDED(mu_) {
    if (LookFor(condition)) return;
    sleepers_.fetch_add(1);
    {
      MutexLock lock(mu_);
      while (!condition()) changed_.wait(mu_);
    }
    sleepers_.fetch_sub(1);
  }

  /// The same, but no longer than until `deadline`.
  template <typename Condition>
  void AwaitUntil(const Condition& condition, std::chrono::steady_clock::time_point deadline)
      ABSL_LOCKS_EXCLUDED(mu_) {
    sleepers_.fetch_add(1);
    {
      MutexLock lock(mu_);
      while (!condition()) {
        if (changed_.wait_until(mu_, deadline) == std::cv_status::timeout) break;
      }
    }
    sleepers_.fetch_sub(1);
  }

  /// Lets every waiter look again.
  void Notify() ABSL_LOCKS_EXCLUDED(mu_) {
    if (sleepers_.load() == 0) return;
    // Whoever found its condition false before the change is asleep once this lock is had.
    { MutexLock lock(mu_); }
    changed_.notify_all();
  }

 private:
  // Longer than handing over takes, short beside an operation on a frame.
  static constexpr std::chrono::microseconds kLookFor{40};
  static constexpr int kLooksBeforeYielding = 200;

  template <typename Condition>
  [[nodiscard]] bool LookFor(const Condition& condition) const {
    for (int i = 0; i < kLooksBeforeYielding; ++i) {
      if (condition()) return true;
    }
    const auto until = std::chrono::steady_clock::now() + kLookFor;
    while (std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();  // Where there are more threads than cores.
      if (condition()) return true;
    }
    return false;
  }

  std::atomic<int> sleepers_ = 0;
  Mutex mu_;
  CondVar changed_;
};

}  // namespace millrace::pipeline
