// Watches over a learner's predictions: which of them must not teach, and when its weights have
// gone wrong.
//
// A flow that explodes does not show as NaN: the loss of a picture looked up outside of its borders
// stays finite. So it is judged by where it points, and by the loss of no motion, which any model
// can reach by doing nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>

#include "pipeline/learning/skip_reason.h"

namespace millrace::pipeline {

/// What is known of a prediction before anything learns from it.
struct PredictionHealth {
  std::int64_t sample = 0;
  /// Whether the flow and its losses are finite.
  bool finite = true;
  /// The share of pixels whose match lies outside the picture.
  double leaving_share = 0;
  /// The mean length of the flow over the picture's width.
  double motion = 0;
  double loss = 0;
  double loss_no_motion = 0;
};

struct DivergenceOptions {
  /// Nothing is learned from a flow of which a larger share leaves the picture, or that is longer
  /// on average, in widths of the picture.
  double most_leaving = 0.5;
  double most_motion = 0.5;
  /// The weights are taken for bad when the loss over the last `window` predictions is more than so
  /// many times what it was at its best since the guard began, or that of no motion if that is
  /// more; or when `most_refused` in a row must not teach.
  int window = 100;
  double most_loss = 1.1;
  int most_refused = 20;
};

/// The guard. Not thread-safe: to be asked once for each prediction, in their order.
class DivergenceGuard {
 public:
  explicit DivergenceGuard(const DivergenceOptions& options) : options_(options) {}

  /// Takes the next prediction into account. Returns why nothing may be learned from it, if so:
  /// kNonFinite, kLeavesPicture, kTooFast or kNone.
  [[nodiscard]] SkipReason Next(const PredictionHealth& health);

  /// Whether the weights that made the last predictions should be given up for older ones.
  [[nodiscard]] bool Diverged() const;

  /// Whether a whole window of predictions was well away from Diverged(): what made them is worth
  /// keeping.
  [[nodiscard]] bool Healthy() const;
  /// Loss over that of no motion, of the window; 1 while there is nothing to say.
  [[nodiscard]] double Ratio() const;
  /// Whether the last prediction must not teach.
  [[nodiscard]] bool Refusing() const { return refused_ > 0; }
  /// The first sample of the window. REQUIRES: there is one.
  [[nodiscard]] std::int64_t window_begins() const { return window_.front().sample; }

  /// Starts anew: other weights are in place.
  void Restart();

 private:
  struct Losses {
    std::int64_t sample = 0;
    double loss = 0;
    double no_motion = 0;
  };

  [[nodiscard]] SkipReason Judge(const PredictionHealth& health) const;
  // Above it the loss is too high: what no motion would have, or these weights had, is 1.
  [[nodiscard]] double MostRatio(double most) const { return most * std::max(best_, 1.0); }
  [[nodiscard]] bool IsFull() const { return static_cast<int>(window_.size()) == options_.window; }

  const DivergenceOptions options_;
  std::deque<Losses> window_;
  // The least Ratio() of a full window since Restart(): weights that were no better than no motion
  // from the start, as in front of a new camera, may learn.
  double best_ = std::numeric_limits<double>::infinity();
  int refused_ = 0;  // In a row.
};

}  // namespace millrace::pipeline
