// Evaluates a stream's counters: whether it is overloaded, and whether it keeps its plan's promise.
//
// Time is cut into spans of two seconds or more, and each span is evaluated alone. The reported
// state changes after all spans of ten seconds, at least three, contradict it:
//
//   frames dropped in a span     no   yes  no  yes  yes  yes  yes  yes   no   no   no   no   no
//   reported                   none  ..................... none │ drops .............. drops │ none
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "service/overload/overload.h"

namespace millrace::service {

/// A snapshot of a stream's counters.
struct OverloadReading {
  nanoseconds now{0};
  /// Since the stream's start.
  std::uint64_t received = 0;
  std::uint64_t predicted = 0;
  /// Dropped because the queue was full.
  std::uint64_t pushed_out = 0;
  /// Whether the source's frames do not wait and are predicted. No other stream can be overloaded.
  bool working = true;
  /// The learner has time to learn from one frame in `update_every`; 0: from no frame.
  int update_every = 1;
  /// The delay over the last ten seconds; 0 without a prediction.
  double delay_s = 0;
  /// The current promise.
  Promise promise = {};
};

/// A debounced flag: true after ten seconds of true, until ten seconds of false.
class DebouncedFlag {
 public:
  /// Adds a period in which the statement was true, false, or unknown (nullopt).
  void Add(nanoseconds length, std::optional<bool> is_true);

  [[nodiscard]] bool value() const { return value_; }

 private:
  bool value_ = false;
  // The uninterrupted time and number of spans that contradict `value_`.
  nanoseconds contradicted_{0};
  int spans_ = 0;
};

/// The caller passes the time, and the owner guards it.
class OverloadDetector {
 public:
  /// Records a reading. Returns whether it ended a span, so that the reported state may have
  /// changed. Skips a reading older than the previous one: several threads take readings, and one
  /// may be late.
  bool Record(const OverloadReading& reading);

  [[nodiscard]] OverloadKind kind() const;
  /// The overload, without remedies.
  [[nodiscard]] Overload overload() const;
  [[nodiscard]] bool rate_kept() const { return !too_few_.value(); }
  [[nodiscard]] bool delay_kept() const { return !too_late_.value(); }

 private:
  struct Span {
    nanoseconds length{0};
    double received = 0;
    double predicted = 0;
    double pushed_out = 0;
  };

  void Evaluate(const Span& span, const OverloadReading& reading);
  void EvaluateKind(const Span& span, const OverloadReading& reading);
  void EvaluatePromise(const Span& span, const OverloadReading& reading);

  std::optional<OverloadReading> begin_;  // The first reading of the current span.
  bool working_ = true;                   // True if all readings of the span are `working`.
  std::deque<Span> recent_;               // Oldest first; in total ten seconds or a little more.
  int update_every_ = 1;
  int reduced_to_ = 2;  // The last `update_every` above 1, reported until the overload is over.
  // For each kind: the state is this kind or a worse one. The first element is unused.
  std::array<DebouncedFlag, kOverloadKinds.size()> at_least_;
  DebouncedFlag too_few_;
  DebouncedFlag too_late_;
};

}  // namespace millrace::service
