// The last operations of a pipeline that runs: when each of them started and ended.
//
// Always there, so that whoever wonders why a server stutters can look at what has just happened.
// Each device has a ring of its own, the newest over the oldest:
//
//   device 0   F1(8)  B1(8)  U1(8)  F1(9) | B1(5)  U1(5)  F1(6)  B1(6) ...
//                                         ^ the next one
//
// RunRecorder (run_recorder.h) keeps the first ones instead, of a run that is looked at afterwards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// The last operations of one device. Note() is for one thread at a time, waits for nobody and
/// allocates nothing; Since() is thread-safe.
class OperationRing {
 public:
  /// Those of some seconds: an operation of a real network takes a millisecond or more.
  static constexpr std::int64_t kPlaces = 4096;

  OperationRing() = default;
  OperationRing(const OperationRing&) = delete;
  OperationRing& operator=(const OperationRing&) = delete;

  /// REQUIRES: it started when the one noted before had ended, or later.
  void Note(const Step& step, nanoseconds start, nanoseconds end);

  /// Appends those that ended at `since` or later, oldest first, as operations of `device`.
  void Since(nanoseconds since, std::size_t device, std::vector<PastOperation>& operations) const;

 private:
  // Read while it is written over: what was read counts only if it was not begun anew meanwhile.
  struct Place {
    std::atomic<OperationKind> kind = OperationKind::kForward;
    std::atomic<int> stage = 0;
    std::atomic<std::int64_t> first = 0;
    std::atomic<std::int64_t> last = 0;
    std::atomic<nanoseconds::rep> start = 0;
    std::atomic<nanoseconds::rep> end = 0;
  };

  [[nodiscard]] PastOperation Read(std::int64_t number, std::size_t device) const;

  // How many operations were begun to be noted, and how many have been.
  std::atomic<std::int64_t> begun_ = 0;
  std::atomic<std::int64_t> noted_ = 0;
  std::array<Place, kPlaces> places_;
};

/// The rings of a pipeline's devices. Thread-safe.
class RunHistory {
 public:
  RunHistory() = default;
  RunHistory(const RunHistory&) = delete;
  RunHistory& operator=(const RunHistory&) = delete;

  /// That of `device`, which is made if there is none. It lives as long as the history.
  [[nodiscard]] OperationRing& RingOf(std::size_t device) ABSL_LOCKS_EXCLUDED(mu_);

  /// What ended at `since` or later and is still kept: by device, then in the order in which it
  /// ran.
  [[nodiscard]] std::vector<PastOperation> Since(nanoseconds since) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::deque<OperationRing> rings_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
