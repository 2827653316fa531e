// The last operations of a running pipeline, with their start and end.
//
// It always records, so that an operator can see at once why a server stutters. Each device has its
// own ring, where the newest operation overwrites the oldest:
//
//   device 0   F1(8)  B1(8)  U1(8)  F1(9) | B1(5)  U1(5)  F1(6)  B1(6) ...
//                                         ^ the next one
//
// OperationRecorder (operation_recorder.h) keeps the first operations instead, to analyze a run
// afterwards.
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

/// The last operations of one device. Note() is for one thread at a time, never waits and allocates
/// nothing; Since() is thread-safe.
class OperationRing {
 public:
  /// A few seconds: an operation of a real network takes a millisecond or more.
  static constexpr std::int64_t kPlaces = 4096;

  OperationRing() = default;
  OperationRing(const OperationRing&) = delete;
  OperationRing& operator=(const OperationRing&) = delete;

  /// REQUIRES: `start` is not before the end of the operation noted before.
  void Note(const Step& step, nanoseconds start, nanoseconds end);

  /// Appends the operations that ended at `since` or later, oldest first, as operations of
  /// `device`.
  void Since(nanoseconds since, std::size_t device, std::vector<PastOperation>& operations) const;

 private:
  // May be overwritten during a read. A reader then checks `begun_` and discards overwritten
  // values.
  struct Place {
    std::atomic<OperationKind> kind = OperationKind::kForward;
    std::atomic<int> stage = 0;
    std::atomic<std::int64_t> first = 0;
    std::atomic<std::int64_t> last = 0;
    std::atomic<nanoseconds::rep> start = 0;
    std::atomic<nanoseconds::rep> end = 0;
  };

  [[nodiscard]] PastOperation Read(std::int64_t number, std::size_t device) const;

  // The number of operations whose Note() has begun, and the number whose Note() has ended.
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

  /// The ring of `device`, which is created if needed. Valid as long as the history exists.
  [[nodiscard]] OperationRing& RingOf(std::size_t device) ABSL_LOCKS_EXCLUDED(mu_);

  /// The kept operations that ended at `since` or later: by device, then in the order of execution.
  [[nodiscard]] std::vector<PastOperation> Since(nanoseconds since) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::deque<OperationRing> rings_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
