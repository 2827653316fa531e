// Judges from a stream's counters whether it is overloaded, and whether it keeps its plan's
// promise.
//
// Time is cut into spans of two seconds or more. Each span is judged by itself; what is said of the
// stream changes once all spans of ten seconds, three at least, contradict it:
//
//   frames dropped in a span     no   yes  no  yes  yes  yes  yes  yes   no   no   no   no   no
//   said                       none  ..................... none │ drops .............. drops │ none
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "service/overload/overload.h"

namespace millrace::service {

/// A stream's counters at one moment.
struct OverloadReading {
  nanoseconds now{0};
  /// Since the stream began.
  std::uint64_t received = 0;
  std::uint64_t predicted = 0;
  /// Dropped because the queue was full.
  std::uint64_t pushed_out = 0;
  /// Whether frames come that do not wait, and are predicted. Nothing else can be overloaded.
  bool working = true;
  /// From every which frame the learner has time to learn; 0: from none.
  int update_every = 1;
  /// Of the last ten seconds; 0: there was no prediction.
  double delay_s = 0;
  /// What is promised now.
  Promise promise = {};
};

/// A statement that is believed once it was true for ten seconds, and until it was false for ten.
class LastingTruth {
 public:
  /// For `length` the statement was true, or false, or neither could be said.
  void Add(nanoseconds length, std::optional<bool> is_true);

  [[nodiscard]] bool believed() const { return believed_; }

 private:
  bool believed_ = false;
  // Without a break, what is believed was contradicted for so long, in so many spans.
  nanoseconds contradicted_{0};
  int spans_ = 0;
};

/// Told the time by its caller, and guarded by its owner.
class OverloadJudge {
 public:
  /// Takes a reading into account; returns whether it has ended a span, so that what is said may
  /// have changed. A reading that is older than the one before it is left out: several threads
  /// take readings, and one may come late.
  bool Record(const OverloadReading& reading);

  [[nodiscard]] OverloadKind kind() const;
  /// Without remedies.
  [[nodiscard]] Overload overload() const;
  [[nodiscard]] bool rate_kept() const { return !too_few_.believed(); }
  [[nodiscard]] bool delay_kept() const { return !too_late_.believed(); }

 private:
  struct Span {
    nanoseconds length{0};
    double received = 0;
    double predicted = 0;
    double pushed_out = 0;
  };

  void Judge(const Span& span, const OverloadReading& reading);
  void JudgeKind(const Span& span, const OverloadReading& reading);
  void JudgePromise(const Span& span, const OverloadReading& reading);

  std::optional<OverloadReading> begin_;  // Of the span that has not ended.
  bool working_ = true;                   // In all of it.
  std::deque<Span> recent_;               // Oldest first, together ten seconds or a little more.
  int update_every_ = 1;
  // Of each kind: it is that or a worse one. The first stays unused.
  std::array<LastingTruth, kOverloadKinds.size()> at_least_;
  LastingTruth too_few_;
  LastingTruth too_late_;
};

}  // namespace millrace::service
