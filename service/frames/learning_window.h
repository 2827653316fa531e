// Rates a model's newest predictions. The page, the progress line and the summary show the same
// values.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "service/frames/prediction.h"

namespace millrace::service {

/// Values over at most the last kLossWindow (windows.h) finite predictions with a loss.
struct RecentLearning {
  int predictions = 0;
  /// Means; 0 before the first prediction.
  double loss = 0;
  double loss_no_motion = 0;
  /// (no motion - model) / (no motion - reference), with sums of losses. The value 1 is as good as
  /// the reference. nullopt unless the reference is better than no motion.
  std::optional<double> gain = {};
  /// The share of predictions with motion that their pictures do not show (motion_evidence.h).
  double spurious_share = 0;

  /// 1 - loss / loss_no_motion: below 0 the model is worse than zero motion. nullopt without a
  /// zero-motion loss.
  [[nodiscard]] std::optional<double> explained() const;
  /// Whether most predictions show motion in still pictures. Then explained() measures only noise
  /// that the flow averages away.
  [[nodiscard]] bool sees_spurious_motion() const { return spurious_share > 0.5; }
};

/// Collects the values. Not thread-safe.
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
