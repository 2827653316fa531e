// Lets threads wait for a condition that other threads make true by atomic stores.
//
// Most conditions in a pipeline are already true, or become true within microseconds, or after a
// frame's time. So a waiter spins for a short time, then sleeps. A notifier takes a lock only if a
// thread sleeps. A handover between two busy threads costs no system call.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/mutex.h"

namespace millrace::pipeline {

/// Thread-safe. No wake-up is lost if a condition reads only sequentially consistent atomics, and
/// Notify() follows each store that makes it true.
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

  /// Makes every waiter check its condition again.
  void Notify() ABSL_LOCKS_EXCLUDED(mu_) {
    if (sleepers_.load() == 0) return;
    // A waiter that found its condition false before the store sleeps by the time we hold this
    // lock.
    { MutexLock lock(mu_); }
    changed_.notify_all();
  }

 private:
  // Longer than a handover, short compared with an operation on a frame.
  static constexpr std::chrono::microseconds kLookFor{40};
  static constexpr int kLooksBeforeYielding = 200;

  template <typename Condition>
  [[nodiscard]] bool LookFor(const Condition& condition) const {
    for (int i = 0; i < kLooksBeforeYielding; ++i) {
      if (condition()) return true;
    }
    const auto until = std::chrono::steady_clock::now() + kLookFor;
    while (std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();  // For machines with more threads than cores.
      if (condition()) return true;
    }
    return false;
  }

  std::atomic<int> sleepers_ = 0;
  Mutex mu_;
  CondVar changed_;
};

}  // namespace millrace::pipeline
