// What a model's newest predictions were worth: one set of figures for the page, the progress line
// and the summary.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "service/frames/prediction.h"

namespace millrace::service {

/// Over the last kLossWindow (windows.h) predictions that are finite and have a loss, or fewer.
struct RecentLearning {
  int predictions = 0;
  /// Means; 0 before the first prediction.
  double loss = 0;
  double loss_no_motion = 0;
  /// (no motion - model) / (no motion - reference), of the sums: 1 is as good as the reference.
  /// Nothing without a reference that is better than no motion.
  std::optional<double> gain = {};
  /// The share of the predictions that see motion which their pictures do not show
  /// (motion_evidence.h).
  double spurious_share = 0;

  /// 1 - loss / loss_no_motion: below 0 the model is worse than no motion. Nothing where there is
  /// no loss of no motion.
  [[nodiscard]] std::optional<double> explained() const;
  /// Whether it sees motion where nothing moves, most of the time: then explained() is noise that
  /// its flow averages away.
  [[nodiscard]] bool sees_spurious_motion() const { return spurious_share > 0.5; }
};

/// Gathers them. Not thread-safe.
class LearningWindow {
 public:
  void Record(const Prediction& prediction);
  [[nodiscard]] RecentLearning Recent() const;

 private:
  struct Entry {
    double loss = 0;
    double loss_no_motion = 0;
    std::optional<Comparison> comparison;
    bool spurious_motion = false;
  };

  std::deque<Entry> entries_;
};

}  // namespace millrace::service
