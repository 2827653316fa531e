// Keeps the books of a camera stream's frames: counts that add up in every reading.
//
// The queue counts what comes in and what falls out of it, on the camera's thread; the ledger
// counts what becomes of the rest, on the learner's. A reading joins the two without stopping
// either.
#pragma once

#include <array>
#include <cstdint>

#include "base/mutex.h"
#include "service/frames/accounting.h"

namespace millrace::service {

/// Counts the ends of frames that came out of a queue. Thread-safe.
class FrameLedger {
 public:
  /// Counts a frame that came out of the queue and got its prediction.
  void Predicted() ABSL_LOCKS_EXCLUDED(mu_);
  /// Counts `frames` that came out of the queue and get none. REQUIRES: `reason` is not kQueueFull,
  /// which the queue counts itself.
  void Dropped(DropReason reason, std::uint64_t frames = 1) ABSL_LOCKS_EXCLUDED(mu_);

  /// What became of every frame that `queue` received, at one moment: never unbalanced, and a frame
  /// that is being handed over is in flight. So `in_flight` is at most the queue's capacity, plus
  /// what the learner holds, plus one frame in the camera's hand and one in the learner's thread's.
  /// `Arrivals`: an ingest::FrameQueue, or what counts as one.
  template <typename Arrivals>
  [[nodiscard]] FrameCounts Count(const Arrivals& queue) const ABSL_LOCKS_EXCLUDED(mu_);

  /// The same, and whether the frames in flight are anywhere: `held` says how many wait in queues
  /// or are inside the pipeline. Those that are being handed over are not missed.
  template <typename Arrivals, typename Held>
  [[nodiscard]] FrameCounts Audit(const Arrivals& queue, const Held& held) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // In the hands of the camera's thread, of the learner's, and of the one that predicts.
  static constexpr std::uint64_t kHandedOver = 3;

  [[nodiscard]] FrameCounts Ends(std::uint64_t pushed_out, std::uint64_t shut_out) const
      ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::uint64_t predicted_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<std::uint64_t, kDropReasons> dropped_ ABSL_GUARDED_BY(mu_){};
};

// A frame is counted as received before its end can be, so what is received last exceeds all ends
// read before. That alone makes `in_flight` no negative number. That nothing was received
// meanwhile, so that the counts belong to one moment, is worth another look: at the pace of a
// camera the first one succeeds.
template <typename Arrivals>
FrameCounts FrameLedger::Count(const Arrivals& queue) const {
  for (;;) {
    const std::uint64_t received = queue.received();
    FrameCounts counts = Ends(queue.dropped(), queue.shut_out());
    if (queue.received() != received) continue;
    counts.received = received;
    counts.in_flight = received - counts.predicted - counts.dropped_in_all();
    return counts;
  }
}

// The books say what is in flight by difference, so they agree with themselves whatever is
// forgotten. What is held is counted by others. The two are of one moment if nothing came or ended
// meanwhile; where that never happens, so that frames move, none is said to be lost.
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
