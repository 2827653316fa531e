// The labels of the samples in the window. A client sends labels by sample number, in any order,
// late or never.
//
// A model that learns from the last W samples at every step can use a label while its sample is
// among them. Step n learns from samples n - W + 1 to n:
//
//   W = 4     step   5        6        7        8        9
//             window 2..5     3..6     4..7     5..8     6..9
//                         ^ the label of sample 5 comes: steps 6, 7 and 8 learn from it
//
// A label counts from the first step that has not begun when it arrives. This holds for all stages,
// and also if a loss is computed twice. So the result depends only on the steps that had begun when
// each label arrived.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/decisions/sample_label.h"

namespace millrace::pipeline {

/// Counts of received labels. Each label is counted once.
struct LabelFigures {
  /// Received before the first step that could learn from it, with or after its sample.
  std::int64_t in_time = 0;
  /// Received later, while its sample was still in the window.
  std::int64_t late = 0;
  /// Rejected: the sample had left the window, did not exist, or already had a label.
  std::int64_t too_late = 0;
  std::int64_t unknown = 0;
  std::int64_t repeated = 0;
};

/// The labels of the samples that steps may still learn from. Memory is bounded by the window and
/// by the samples in flight. Thread-safe.
class LateLabels {
 public:
  struct Options {
    /// W. At least 1.
    int window = 1;
    /// Labels(n) and Learns(n) are not called after a step later than n + in_flight has begun. At
    /// least 0. Remember() can raise it.
    std::int64_t in_flight = 0;
    /// The number of the first sample.
    std::int64_t first = 0;
  };

  explicit LateLabels(const Options& options);

  /// Adds sample `number`, optionally with its label. Its step learns if it has labels and the last
  /// `learn_from_every` - 1 steps with labels did not learn. 0: it does not learn. REQUIRES:
  /// numbers count up from Options::first.
  void Admit(std::int64_t number, std::optional<SampleLabel> label, int learn_from_every = 1)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Removes the newest sample, which was not admitted after all, and its label. The next sample
  /// has its number. REQUIRES: there is such a sample, and its step has not begun.
  void Withdraw() ABSL_LOCKS_EXCLUDED(mu_);

  /// Adds the label of a sample. Fails with
  ///   NOT_FOUND       if there is no such sample yet
  ///   OUT_OF_RANGE    if the sample has left the window; the message names the window
  ///   ALREADY_EXISTS  if the sample has a label; the first one stays, since steps may have read it
  /// Each label is counted.
  [[nodiscard]] absl::Status Add(std::int64_t number, SampleLabel label) ABSL_LOCKS_EXCLUDED(mu_);

  struct Labelled {
    std::int64_t sample = 0;
    SampleLabel label;
    /// Whether no earlier step had this label.
    bool fresh = false;
  };
  /// Begins step `step`, if it has not begun, and returns its labels, by sample. Repeated calls for
  /// a step return the same labels. REQUIRES: sample `step` was admitted; the order of
  /// Options::in_flight.
  [[nodiscard]] std::vector<Labelled> Labels(std::int64_t step) ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether the step learns. REQUIRES: it has begun; the order of Options::in_flight.
  [[nodiscard]] bool Learns(std::int64_t step) const ABSL_LOCKS_EXCLUDED(mu_);

  /// Keeps the labels of at least this number of steps in flight, from now on.
  void Remember(std::int64_t in_flight) ABSL_LOCKS_EXCLUDED(mu_);

  /// New steps ignore all labels received so far. Their samples keep them, so further labels are
  /// rejected.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] LabelFigures figures() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();

  struct Entry {
    std::optional<SampleLabel> label;
    std::int64_t counts_from = 0;  // A step.
    std::int64_t counts_until = kInfinity;
    // Of the step of the same number.
    int learn_from_every = 1;
    bool learns = false;
  };

  void Begin(std::int64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// The label of `entry`, if it counts at `step`. Null: none.
  [[nodiscard]] static const SampleLabel* LabelAt(const Entry& entry, std::int64_t step);
  [[nodiscard]] std::int64_t OldestOf(std::int64_t step) const;
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const int window_;
  const std::int64_t begin_;

  mutable Mutex mu_;
  std::int64_t in_flight_ ABSL_GUARDED_BY(mu_);
  int left_out_ ABSL_GUARDED_BY(mu_) = 0;  // Steps with labels since the last one that learned.
  std::int64_t admitted_ ABSL_GUARDED_BY(mu_);   // The number of the next sample.
  std::int64_t next_step_ ABSL_GUARDED_BY(mu_);  // The first step that has not begun.
  // For samples first_, first_ + 1 ... admitted_ - 1.
  std::int64_t first_ ABSL_GUARDED_BY(mu_);
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
  LabelFigures figures_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
