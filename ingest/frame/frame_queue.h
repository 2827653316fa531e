// Passes decoded frames from a camera's thread to the learner.
//
// A live camera cannot be paused. When the learner falls behind, the queue drops its oldest frame
// and counts the loss, so the learner always sees fresh frames. A queue with kDropNewest drops the
// new frame instead and keeps the waiting frames. A file can be paused: its frames wait for room
// and no frame is lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bounded_queue.h"
#include "ingest/frame/frame.h"

namespace millrace::ingest {

/// What the queue does with a new frame when it is full.
enum class WhenFull { kDropOldest, kDropNewest, kWait };

/// A bounded first-in-first-out queue of frames. Thread-safe. Must outlive the threads that push to
/// it and pop from it.
class FrameQueue {
 public:
  /// REQUIRES: capacity > 0.
  FrameQueue(std::size_t capacity, WhenFull when_full);

  /// Appends `frame`, or acts by WhenFull if the queue is full. After Close(), discards it and
  /// counts it as `rejected_after_close`. Calls Lost() on the observer of a lost frame.
  void Push(Frame frame);

  /// Waits for the oldest frame. Returns nullopt once the queue is closed and empty.
  [[nodiscard]] std::optional<Frame> Pop();

  /// Wakes every waiting thread. Frames already queued can still be popped. Idempotent.
  void Close();

  /// All frames passed to Push(). received() = popped + dropped() + rejected_after_close() +
  /// waiting(), exact while no Push() or Pop() is running.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// Frames dropped because the queue was full.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  /// Frames pushed after Close().
  [[nodiscard]] std::uint64_t rejected_after_close() const { return rejected_after_close_; }
  [[nodiscard]] std::size_t waiting() const { return frames_.size(); }

 private:
  void PushIfRoom(Frame frame);

  // Constant after construction.
  const WhenFull when_full_;

  // Self-synchronized.
  BoundedQueue<Frame> frames_;
  std::atomic<std::uint64_t> received_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> rejected_after_close_ = 0;
};

}  // namespace millrace::ingest
