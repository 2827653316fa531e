// Checks a learner's predictions: which of them must not be learned from, and whether its weights
// have gone wrong.
//
// An exploding flow does not produce a NaN: the loss of a picture sampled outside its borders stays
// finite. So the guard checks where the flow points, and compares its loss with the loss of no
// motion, which a model without output reaches.
#pragma once

#include <algorithm>
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
  /// Limits of a flow that the model may learn from: the share of it that leaves the picture, and
  /// its mean length, in widths of the picture.
  double most_leaving = 0.5;
  double most_motion = 0.5;
  /// The weights count as bad in each of these cases:
  ///   - `most_refused` predictions in a row, or half of the last `window`, must not be learned
  ///     from.
  ///   - The loss over that window exceeds `most_loss` times the loss of no motion. If the loss was
  ///     already higher in the first fifth of the first window, that ratio is the baseline instead.
  ///     So a network that is new to a camera may learn.
  int window = 100;
  double most_loss = 1.1;
  int most_refused = 20;
};

/// The guard. Not thread-safe: call it once for each prediction, in order.
class DivergenceGuard {
 public:
  explicit DivergenceGuard(const DivergenceOptions& options) : options_(options) {}

  /// Adds the next prediction. Returns the reason why it must not be learned from: kNonFinite,
  /// kLeavesPicture or kTooFast; kNone if it may be.
  [[nodiscard]] SkipReason Next(const PredictionHealth& health);

  /// Adds only the information whether a prediction was finite, for predictions without other
  /// information about the weights.
  void Glimpse(bool finite) { refused_ = finite ? 0 : refused_ + 1; }

  /// Whether older weights should replace those of the last predictions.
  [[nodiscard]] bool Diverged() const;

  /// Whether a whole window of predictions was well away from Diverged(), without a refused
  /// prediction. Such weights are worth keeping.
  [[nodiscard]] bool Healthy() const;

  /// Whether the newest weights show no problem: the last fifth of a window was within the limits
  /// of Diverged(), without a refused prediction.
  [[nodiscard]] bool Sound() const;

  /// Loss divided by the loss of no motion, over a whole window; 1 until the window is full.
  [[nodiscard]] double Ratio() const { return IsFull() ? RatioOfLast(options_.window) : 1; }
  /// The first sample of the window. REQUIRES: the window is not empty.
  [[nodiscard]] std::int64_t window_begins() const { return window_.front().sample; }

  /// Restarts for other weights.
  void Restart();

 private:
  struct Entry {
    std::int64_t sample = 0;
    double loss = 0;
    double no_motion = 0;
    bool refused = false;
  };

  [[nodiscard]] SkipReason Judge(const PredictionHealth& health) const;
  [[nodiscard]] bool IsFull() const { return static_cast<int>(window_.size()) == options_.window; }
  [[nodiscard]] int fifth() const { return std::max(options_.window / 5, 1); }
  [[nodiscard]] double RatioOfLast(int predictions) const;
  [[nodiscard]] int RefusedOfLast(int predictions) const;
  // The limit of the ratio: `most` times the expected ratio, which is at least 1.
  [[nodiscard]] double MostRatio(double most) const { return most * std::max(best_, 1.0); }

  const DivergenceOptions options_;
  std::deque<Entry> window_;
  // The ratio of the first fifth of a window since Restart(), or of a better whole window.
  double best_ = std::numeric_limits<double>::infinity();
  int refused_ = 0;  // In a row.
};

}  // namespace millrace::pipeline
