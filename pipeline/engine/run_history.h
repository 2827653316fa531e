// The operations of a running pipeline, with their start and end.
//
// It always records, so that an operator can see at once why a server stutters. Each device has its
// own ring, where the newest operation overwrites the oldest:
//
//   device 0   F1(8)  B1(8)  U1(8)  F1(9) | B1(5)  U1(5)  F1(6)  B1(6) ...
//                                         ^ the next one
//
// To analyze a run afterwards, a history may keep the first operations instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// How much of a run is kept.
struct HistoryLimit {
  /// For each device. By default a few seconds: an operation of a real network takes a millisecond
  /// or more.
  std::int64_t operations = 4096;
  /// Whether the first operations are kept, and not the last.
  bool keeps_first = false;
};

/// Operations of one device. Note() is for one thread at a time, never waits and allocates nothing;
/// the rest is thread-safe. Aligned, so that two devices' threads do not share a cache line.
class alignas(64) OperationRing {
 public:
  /// REQUIRES: limit.operations > 0.
  explicit OperationRing(const HistoryLimit& limit = {})
      : keeps_first_(limit.keeps_first), places_(limit.operations) {
    MILLRACE_CHECK(!places_.empty());
  }

  OperationRing(const OperationRing&) = delete;
  OperationRing& operator=(const OperationRing&) = delete;

  /// REQUIRES: `start` is not before the end of the operation noted before.
  void Note(const Step& step, nanoseconds start, nanoseconds end);

  /// The noted operations that are not kept because it keeps the first.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

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

  [[nodiscard]] std::int64_t size() const { return std::ssize(places_); }

  const bool keeps_first_;
  std::atomic<std::int64_t> left_out_ = 0;
  // The number of operations whose Note() has begun, and the number whose Note() has ended.
  std::atomic<std::int64_t> begun_ = 0;
  std::atomic<std::int64_t> noted_ = 0;
  std::vector<Place> places_;  // Never resized.
};

/// The rings of a pipeline's devices. Thread-safe.
class RunHistory {
 public:
  explicit RunHistory(const HistoryLimit& limit = {}) : limit_(limit) {}

  RunHistory(const RunHistory&) = delete;
  RunHistory& operator=(const RunHistory&) = delete;

  /// Returns a function that notes operations of the first `devices` devices, without a lock. The
  /// history outlives it.
  [[nodiscard]] ObserveOperation Observer(std::size_t devices) ABSL_LOCKS_EXCLUDED(mu_);

  /// The kept operations that ended at `since` or later: by device, then in the order of execution.
  [[nodiscard]] std::vector<PastOperation> Since(nanoseconds since) const ABSL_LOCKS_EXCLUDED(mu_);

  /// The operations of all devices that are not kept because it keeps the first.
  [[nodiscard]] std::int64_t left_out() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const HistoryLimit limit_;
  mutable Mutex mu_;
  std::deque<OperationRing> rings_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
