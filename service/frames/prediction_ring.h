// The newest predictions of a camera stream, kept for any number of readers.
//
// The learner publishes and never waits. Each reader has a cursor of its own; one that falls behind
// by more than the ring holds has lost predictions, and is told how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/frames/prediction.h"

namespace millrace::service {

/// What a reader gets next: the newest prediction, or the oldest of the last `depth` that it has
/// not had.
struct ReadPolicy {
  bool newest = false;
  std::size_t depth = 16;
};

/// A bounded ring of shared predictions. Thread-safe.
class PredictionRing {
 public:
  /// Where a reader stands: the sequence number that it wants next. Starts at the first prediction
  /// published after the cursor was made, by Begin().
  using Cursor = std::uint64_t;

  struct ReadResult {
    /// Null when there is nothing new.
    std::shared_ptr<const Prediction> prediction;
    /// Predictions between the cursor and this one, lost to the reader.
    std::uint64_t missed = 0;
  };

  /// REQUIRES: capacity > 0.
  explicit PredictionRing(std::size_t capacity);
  ~PredictionRing();

  PredictionRing(const PredictionRing&) = delete;
  PredictionRing& operator=(const PredictionRing&) = delete;

  /// Appends `prediction`, dropping the oldest if full, then calls every listener. REQUIRES: not
  /// closed.
  void Publish(std::shared_ptr<const Prediction> prediction) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] Cursor Begin() const ABSL_LOCKS_EXCLUDED(mu_);
  /// From now on it holds at least `depth`, until as many calls of Release() with the same.
  void Hold(std::size_t depth) ABSL_LOCKS_EXCLUDED(mu_);
  void Release(std::size_t depth) ABSL_LOCKS_EXCLUDED(mu_);
  /// Reads by `policy` and moves `cursor` past what it returns, whose number it was.
  [[nodiscard]] ReadResult Read(Cursor& cursor, const ReadPolicy& policy) const
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The newest prediction, or null before the first.
  [[nodiscard]] std::shared_ptr<const Prediction> Newest() const ABSL_LOCKS_EXCLUDED(mu_);

  /// What readers are told once it is closed: why there are no more. OK unless said.
  void EndWith(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status end() const ABSL_LOCKS_EXCLUDED(mu_);
  /// No prediction will come any more: calls every listener a last time. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool closed() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Calls `listener` after each Publish() and at Close(), on the publisher's thread, without a
  /// lock held: it must only wake somebody. Lives until the returned handle is destroyed, which
  /// waits for a call in progress. The ring must outlive the handle.
  class Listening;
  [[nodiscard]] std::unique_ptr<Listening> Listen(std::function<void()> listener);

 private:
  struct Listeners;

  void DropSurplus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::size_t capacity_;
  const std::shared_ptr<Listeners> listeners_;  // Shared with the handles.

  mutable Mutex mu_;
  std::deque<std::shared_ptr<const Prediction>> predictions_ ABSL_GUARDED_BY(mu_);
  std::uint64_t published_ ABSL_GUARDED_BY(mu_) = 0;
  std::multiset<std::size_t> held_ ABSL_GUARDED_BY(mu_);  // Depths that readers need.
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mu_);
};

/// A listener's place in a ring's list. Destroying it takes the listener off the list. Not to be
/// destroyed by the listener itself, nor under a lock that the listener takes.
class PredictionRing::Listening {
 public:
  ~Listening();

  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  friend class PredictionRing;
  Listening(std::shared_ptr<Listeners> listeners, std::uint64_t id);

  const std::shared_ptr<Listeners> listeners_;  // Shared with the ring.
  const std::uint64_t id_;
};

}  // namespace millrace::service
