// Which labels are known for which samples: a client sends them by the sample's number, in any
// order, late or never.
//
// A model that learns from the last W samples at every step can use a label as long as its sample
// is among them. Step n learns from samples n - W + 1 to n:
//
//   W = 4     step   5        6        7        8        9
//             window 2..5     3..6     4..7     5..8     6..9
//                         ^ the label of sample 5 comes: steps 6, 7 and 8 learn from it
//
// A label counts from the first step that has not begun when it comes, for every stage alike and
// also where a loss is made twice; so what is learned depends on when labels came only as far as on
// the steps that had begun.
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

/// What has become of the labels that came. Each is counted once.
struct LabelFigures {
  /// Before the first step that could learn from it, with the sample or after: it misses nothing.
  std::int64_t in_time = 0;
  /// Later, while its sample was still in the window.
  std::int64_t late = 0;
  /// Refused: its sample had left the window; there was no such sample; it had a label already.
  std::int64_t too_late = 0;
  std::int64_t unknown = 0;
  std::int64_t repeated = 0;
};

/// The labels of the samples that may still be learned from. Memory is bounded by the window and by
/// what is in flight. Thread-safe.
class LateLabels {
 public:
  struct Options {
    /// W. At least 1.
    int window = 1;
    /// Labels(n) is not asked for once a step after n + in_flight has begun. At least 0.
    std::int64_t in_flight = 0;
    /// The number of the first sample.
    std::int64_t first = 0;
  };

  explicit LateLabels(const Options& options);

  /// Sample `number` comes in, perhaps with its label. REQUIRES: numbers count up from
  /// Options::first.
  void Admit(std::int64_t number, std::optional<SampleLabel> label) ABSL_LOCKS_EXCLUDED(mu_);

  /// Takes the label of a sample. NOT_FOUND if no such sample has come in; OUT_OF_RANGE, naming the
  /// window, if the sample has left it; ALREADY_EXISTS if it has a label: the first one stays,
  /// since steps may have learned from it. Each is counted.
  [[nodiscard]] absl::Status Add(std::int64_t number, SampleLabel label) ABSL_LOCKS_EXCLUDED(mu_);

  struct Labelled {
    std::int64_t sample = 0;
    SampleLabel label;
    /// Whether no step before learned from it: the model has seen the sample, not its label.
    bool fresh = false;
  };
  /// Begins step `step`, if it has not begun, and returns what it learns from: the labels that
  /// count in it, by sample. The same step gets the same labels however often it asks. REQUIRES:
  /// sample `step` has come in; as Options::in_flight says.
  [[nodiscard]] std::vector<Labelled> Labels(std::int64_t step) ABSL_LOCKS_EXCLUDED(mu_);

  /// No step that has not begun learns from the labels that have come so far. Their samples still
  /// have them: others are refused.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] LabelFigures figures() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

  struct Entry {
    std::optional<SampleLabel> label;
    std::int64_t counts_from = 0;  // A step.
    std::int64_t counts_until = kForEver;
  };

  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Options options_;

  mutable Mutex mu_;
  std::int64_t admitted_ ABSL_GUARDED_BY(mu_);   // The number of the next sample.
  std::int64_t next_step_ ABSL_GUARDED_BY(mu_);  // The first one that has not begun.
  // Of samples first_, first_ + 1 ... admitted_ - 1.
  std::int64_t first_ ABSL_GUARDED_BY(mu_);
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
  LabelFigures figures_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
