// Counts the outcomes of a camera stream's frames. The counts add up in every snapshot.
//
// The queue counts arrivals and losses on the camera's thread; the ledger counts the outcomes of
// the other frames on the learner's thread. A snapshot joins both and stops neither.
#pragma once

#include <array>
#include <cstdint>

#include "base/mutex.h"
#include "service/frames/frame_counts.h"

namespace millrace::service {

/// Counts the outcomes of frames from a queue. Thread-safe.
class FrameLedger {
 public:
  /// Counts a frame from the queue that got its prediction.
  void Predicted() ABSL_LOCKS_EXCLUDED(mu_);
  /// Counts `frames` from the queue without a prediction. REQUIRES: `reason` is not kQueueFull,
  /// because the queue counts it.
  void Dropped(DropReason reason, std::uint64_t frames = 1) ABSL_LOCKS_EXCLUDED(mu_);

  /// The outcomes of all frames that `queue` received, as one balanced snapshot. A frame between
  /// two threads is in flight. So `in_flight` is at most the queue's capacity, plus the learner's
  /// frames, plus one frame on the camera's thread and one on the learner's. `Arrivals`:
  /// ingest::FrameQueue, or a class with the same counters.
  template <typename Arrivals>
  [[nodiscard]] FrameCounts Count(const Arrivals& queue) const ABSL_LOCKS_EXCLUDED(mu_);

  /// As Count(), and sets `lost`. `held` returns the number of frames in queues and inside the
  /// pipeline. Frames between two threads do not count as lost.
  template <typename Arrivals, typename Held>
  [[nodiscard]] FrameCounts Audit(const Arrivals& queue, const Held& held) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // One frame each on the camera's thread, the learner's thread and the predicting thread.
  static constexpr std::uint64_t kHandedOver = 3;

  [[nodiscard]] FrameCounts Ends(std::uint64_t pushed_out, std::uint64_t rejected_after_close) const
      ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::uint64_t predicted_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<std::uint64_t, kDropReasons> dropped_ ABSL_GUARDED_BY(mu_){};
};

// A frame is counted as received before its outcome, so a later reading of received() is at least
// the sum of all earlier outcomes. So `in_flight` is never negative. The loop repeats until no
// frame arrived during the reading, so that the counts are one snapshot. At a camera's pace, the
// first try succeeds.
template <typename Arrivals>
FrameCounts FrameLedger::Count(const Arrivals& queue) const {
  for (;;) {
    const std::uint64_t received = queue.received();
    FrameCounts counts = Ends(queue.dropped(), queue.rejected_after_close());
    if (queue.received() != received) continue;
    counts.received = received;
    counts.in_flight = received - counts.predicted - counts.dropped_in_all();
    return counts;
  }
}

// `in_flight` is a difference, so the identity is true even if a frame is lost; `held()` counts
// frames independently. The two are comparable only if no frame moved between the readings. If
// frames moved each time, report no loss.
template <typename Arrivals, typename Held>
FrameCounts FrameLedger::Audit(const Arrivals& queue, const Held& held) const {
  constexpr int kLooks = 4;
  FrameCounts counts = Count(queue);
  for (int i = 0; i < kLooks; ++i) {
    const std::uint64_t somewhere = held() + kHandedOver;
    const FrameCounts after = Count(queue);
    if (after == counts) {
      counts.lost = counts.in_flight > somewhere ? counts.in_flight - somewhere : 0;
      return counts;
    }
    counts = after;
  }
  return counts;
}

}  // namespace millrace::service
