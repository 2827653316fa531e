// Keeps the books of a camera stream's frames: counts that add up in every reading.
//
// The queue counts what comes in and what falls out of it, on the camera's thread; the ledger
// counts what becomes of the rest, on the learner's. A reading joins the two without stopping
// either.
#pragma once

#include <array>
#include <cstdint>

#include "base/mutex.h"
#include "ingest/frame_queue.h"
#include "service/accounting.h"

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
  [[nodiscard]] FrameCounts Count(const ingest::FrameQueue& queue) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] FrameCounts Ends(const ingest::FrameQueue& queue) const ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::uint64_t predicted_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<std::uint64_t, kDropReasons> dropped_ ABSL_GUARDED_BY(mu_){};
};

}  // namespace millrace::service
