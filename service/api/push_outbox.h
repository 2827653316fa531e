// Passes the outcomes of a client's frames from the threads that produce them to the call.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "service/frames/pushed_frame.h"

namespace millrace::service {

/// Counts the outcomes that are due. Thread-safe. Shared by the call and its frames, which may
/// outlive the call. So `wake` is called with the lock held under which Detach() removes it.
class PushOutbox {
 public:
  /// `wake` is called whenever there may be work, until Detach(). It must only wake a thread, and
  /// must not call the outbox.
  explicit PushOutbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// A frame has arrived; its outcome is due.
  void Expect() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    ++due_;
  }
  /// Adds the outcome of one expected frame.
  void Notify(PushOutcome outcome) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    known_.push_back(std::move(outcome));
    if (wake_) wake_();
  }
  /// The source accepts no more frames.
  void EndSource() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    source_ended_ = true;
    if (wake_) wake_();
  }
  /// Removes `wake`. Returns when no call of `wake` is in progress.
  void Detach() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    wake_ = nullptr;
    known_.clear();
  }

  /// Removes and returns the oldest known outcome.
  [[nodiscard]] std::optional<PushOutcome> Take() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    if (known_.empty()) return std::nullopt;
    PushOutcome outcome = std::move(known_.front());
    known_.pop_front();
    --due_;
    return outcome;
  }
  /// Number of frames whose outcome was not taken.
  [[nodiscard]] std::size_t due() const ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return due_;
  }
  /// Number of those frames whose outcome is known.
  [[nodiscard]] std::size_t known() const ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return known_.size();
  }
  [[nodiscard]] bool source_ended() const ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return source_ended_;
  }

 private:
  mutable Mutex mu_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mu_);
  std::deque<PushOutcome> known_ ABSL_GUARDED_BY(mu_);
  std::size_t due_ ABSL_GUARDED_BY(mu_) = 0;
  bool source_ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
