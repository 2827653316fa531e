// A bounded first-in-first-out queue between threads.
//
// Each push decides what a full queue does. It waits for room (for a source that can be paused),
// drops the oldest item (for a live source), or rejects the new item.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace millrace {

/// A bounded queue of `T`. Thread-safe. Must outlive the threads that push to it and pop from it.
template <typename T>
class BoundedQueue {
 public:
  /// REQUIRES: capacity > 0.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    MILLRACE_CHECK(capacity > 0);
  }

  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  /// Appends `item`, and waits for room. After Close(), discards `item` and returns false.
  [[nodiscard]] bool PushOrWait(T item) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      while (items_.size() == capacity_ && !closed_) room_.wait(mu_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  /// Appends `item` and never waits. Returns the item that was dropped: the oldest one if the queue
  /// was full, `item` itself after Close(), else nullopt.
  std::optional<T> PushOrDropOldest(T item) ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<T> dropped;
    {
      MutexLock lock(mu_);
      if (closed_) return item;
      if (items_.size() == capacity_) dropped = TakeOldest();
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return dropped;
  }

  enum class Pushed { kYes, kFull, kClosed };

  /// Appends `item` if the queue has room, and never waits. Otherwise discards `item`.
  Pushed PushIfRoom(T item) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      if (closed_) return Pushed::kClosed;
      if (items_.size() == capacity_) return Pushed::kFull;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return Pushed::kYes;
  }

  /// Waits for the oldest item. Returns nullopt once the queue is closed and empty.
  [[nodiscard]] std::optional<T> Pop() ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<T> oldest;
    {
      MutexLock lock(mu_);
      while (items_.empty() && !closed_) ready_.wait(mu_);
      if (items_.empty()) return std::nullopt;
      oldest = TakeOldest();
    }
    room_.notify_one();
    return oldest;
  }

  /// Wakes every waiting thread. Items already queued can still be popped. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      closed_ = true;
    }
    ready_.notify_all();
    room_.notify_all();
  }

  [[nodiscard]] std::size_t size() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return items_.size();
  }

 private:
  T TakeOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    T oldest = std::move(items_.front());
    items_.pop_front();
    return oldest;
  }

  // Constant after construction.
  const std::size_t capacity_;

  mutable Mutex mu_;
  CondVar ready_;
  CondVar room_;
  std::deque<T> items_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace
