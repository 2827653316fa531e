// The newest predictions of a camera stream, for any number of readers.
//
// The learner publishes and never waits. Each reader has its own cursor. A reader that falls behind
// by more than the ring's size loses predictions, and learns their number.
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

/// The next prediction for a reader: the newest, or the oldest unread one of the last `depth`.
struct ReadPolicy {
  bool newest = false;
  std::size_t depth = 16;
};

/// A bounded ring of shared predictions. Thread-safe.
class PredictionRing {
 public:
  /// A reader's position: the sequence number of its next prediction. Begin() returns the position
  /// of the first prediction after the call.
  using Cursor = std::uint64_t;

  struct ReadResult {
    /// Null if there is no new prediction.
    std::shared_ptr<const Prediction> prediction;
    /// The number of lost predictions between the cursor and this one.
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
  /// Keeps at least `depth` predictions from now on, until Release() with the same `depth`.
  void Hold(std::size_t depth) ABSL_LOCKS_EXCLUDED(mu_);
  void Release(std::size_t depth) ABSL_LOCKS_EXCLUDED(mu_);
  /// Reads by `policy` and moves `cursor` behind the returned prediction.
  [[nodiscard]] ReadResult Read(Cursor& cursor, const ReadPolicy& policy) const
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The newest prediction, or null before the first.
  [[nodiscard]] std::shared_ptr<const Prediction> Newest() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Sets the reason that readers receive after Close(). OK by default.
  void EndWith(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status end() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Ends the ring: no more predictions will come. Calls every listener a last time. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool closed() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Calls `listener` after each Publish() and at Close(), on the publisher's thread, without a
  /// lock: it may only wake another thread. The listening ends with the returned handle, whose
  /// destructor waits for a call in progress. The ring must outlive the handle.
  class ListenerHandle;
  [[nodiscard]] std::unique_ptr<ListenerHandle> Listen(std::function<void()> listener);

 private:
  struct Listeners;

  void DropSurplus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const std::size_t capacity_;
  const std::shared_ptr<Listeners> listeners_;  // Shared with the handles.

  mutable Mutex mu_;
  std::deque<std::shared_ptr<const Prediction>> predictions_ ABSL_GUARDED_BY(mu_);
  std::uint64_t published_ ABSL_GUARDED_BY(mu_) = 0;
  std::multiset<std::size_t> held_ ABSL_GUARDED_BY(mu_);  // The depths of Hold().
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mu_);
};

/// The registration of a listener, which its destruction removes. A listener must not destroy its
/// own handle. The handle must not be destroyed under a lock that the listener takes.
class PredictionRing::ListenerHandle {
 public:
  ~ListenerHandle();

  ListenerHandle(const ListenerHandle&) = delete;
  ListenerHandle& operator=(const ListenerHandle&) = delete;

 private:
  friend class PredictionRing;
  ListenerHandle(std::shared_ptr<Listeners> listeners, std::uint64_t id);

  const std::shared_ptr<Listeners> listeners_;  // Shared with the ring.
  const std::uint64_t id_;
};

}  // namespace millrace::service
