// Detects divergence from a learner's predictions. The detector finds predictions that the model
// must not learn from, and says whether its weights have gone wrong or have proven good.
//
// An exploding flow does not produce a NaN: the loss of a picture sampled outside its borders stays
// finite. So the detector checks where the flow points, and compares its loss with the loss of no
// motion, which a model without output reaches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>

#include "pipeline/decisions/skip_reason.h"

namespace millrace::pipeline {

/// The figures of a prediction, before the model learns from it.
struct PredictionHealth {
  std::int64_t sample = 0;
  /// Whether the prediction and its losses are finite.
  bool finite = true;
  /// The share of pixels whose match lies outside the picture.
  double leaving_share = 0;
  /// The mean length of the flow, divided by the picture's width.
  double motion = 0;
  double loss = 0;
  /// The loss of no motion, or of an output of zeros.
  double loss_no_motion = 0;
};

struct DivergenceOptions {
  /// The weights count as bad in each of these cases:
  ///   - `max_refused` predictions in a row, or half of the last `window`, must not be learned
  ///     from.
  ///   - The loss over that window exceeds `max_loss` times the loss of no motion. If the loss was
  ///     already higher in the first fifth of the first window, that ratio is the baseline instead.
  ///     So a network that is new to a camera may learn.
  int window = 100;
  double max_loss = 1.1;
  int max_refused = 20;
};

/// The detector. The thread that scores predictions adds them, in order. The results are
/// thread-safe.
class DivergenceDetector {
 public:
  explicit DivergenceDetector(const DivergenceOptions& options) : options_(options) {}

  /// Adds the next prediction. Returns the reason why it must not be learned from: kNonFinite,
  /// kLeavesPicture or kTooFast; kNone if it may be. On the thread that scores predictions.
  [[nodiscard]] SkipReason Add(const PredictionHealth& health);

  /// Adds only the information whether a prediction was finite, for predictions without other
  /// information about the weights. Changes only diverged(). On the same thread.
  void AddFinite(bool finite);

  /// Whether older weights should replace those of the last predictions.
  [[nodiscard]] bool diverged() const { return diverged_; }

  /// The newest sample whose weights have proven good; -1: none. A whole window of predictions
  /// after it was well away from diverged(), without a refused prediction. Its first predictions
  /// were made by older weights, as many as the pipeline is deep.
  [[nodiscard]] std::int64_t proven() const { return proven_; }

  /// Whether the newest weights show no problem: the last fifth of a window was within the limits
  /// of diverged(), without a refused prediction.
  [[nodiscard]] bool sound() const { return sound_; }

  /// Loss divided by the loss of no motion, over a whole window; 1 until the window is full.
  [[nodiscard]] double ratio() const { return ratio_; }

  /// Restarts for other weights; proven() stays. REQUIRES: no other call runs at the same time.
  void Restart();

 private:
  struct Entry {
    std::int64_t sample = 0;
    double loss = 0;
    double no_motion = 0;
    bool refused = false;
  };

  [[nodiscard]] bool IsFull() const { return static_cast<int>(window_.size()) == options_.window; }
  [[nodiscard]] int fifth() const { return std::max(options_.window / 5, 1); }
  [[nodiscard]] double RatioOfLast(int predictions) const;
  [[nodiscard]] int RefusedOfLast(int predictions) const;
  [[nodiscard]] bool IsDiverged() const;
  [[nodiscard]] bool IsHealthy() const;
  [[nodiscard]] bool IsSound() const;
  // The limit of the ratio: `max_loss` times the baseline, which is at least 1.
  [[nodiscard]] double MaxRatio() const { return options_.max_loss * std::max(baseline_, 1.0); }

  const DivergenceOptions options_;

  // For the thread that scores predictions.
  std::deque<Entry> window_;
  // The ratio of the first fifth of a window since Restart(), or of a better whole window.
  double baseline_ = std::numeric_limits<double>::infinity();
  int refused_ = 0;  // In a row.

  // The results.
  std::atomic<bool> diverged_ = false;
  std::atomic<bool> sound_ = true;
  std::atomic<std::int64_t> proven_ = -1;
  std::atomic<double> ratio_ = 1;
};

}  // namespace millrace::pipeline
