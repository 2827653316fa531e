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

#include "pipeline/decisions/skip_reason.h"

namespace millrace::pipeline {

/// What is known of a prediction before anything learns from it.
struct PredictionHealth {
  std::int64_t sample = 0;
  /// Whether what was predicted and its losses are finite.
  bool finite = true;
  /// The share of pixels whose match lies outside the picture.
  double leaving_share = 0;
  /// The mean length of the flow over the picture's width.
  double motion = 0;
  double loss = 0;
  /// The loss of a model that does nothing: that of no motion, or of an output of zeros.
  double loss_no_motion = 0;
};

struct DivergenceOptions {
  /// Nothing is learned from a flow of which a larger share leaves the picture, or that is longer
  /// on average, in widths of the picture.
  double most_leaving = 0.5;
  double most_motion = 0.5;
  /// The weights are taken for bad when `most_refused` predictions in a row must not teach, or half
  /// of the last `window`; or when the loss over that window is more than so many times that of no
  /// motion, or, where the first fifth of a window was worse than that already, of what they had
  /// then. So a network that is no match for a new camera may learn.
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

  /// Takes into account that a prediction which says nothing else of the weights was, or was not,
  /// finite.
  void Glimpse(bool finite) { refused_ = finite ? 0 : refused_ + 1; }

  /// Whether the weights that made the last predictions should be given up for older ones.
  [[nodiscard]] bool Diverged() const;

  /// Whether a whole window of predictions was well away from Diverged(), and none of it had to be
  /// refused: what made them is worth keeping.
  [[nodiscard]] bool Healthy() const;

  /// Whether nothing speaks against the newest weights: the last fifth of a window was no worse
  /// than Diverged() allows, and none of it had to be refused.
  [[nodiscard]] bool Sound() const;

  /// Loss over that of no motion, of a whole window; 1 while there is none.
  [[nodiscard]] double Ratio() const { return IsFull() ? RatioOfLast(options_.window) : 1; }
  /// The first sample of the window. REQUIRES: there is one.
  [[nodiscard]] std::int64_t window_begins() const { return window_.front().sample; }

  /// Starts anew: other weights are in place.
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
  // Above it the loss is too high: `most` times what is to be expected at the least.
  [[nodiscard]] double MostRatio(double most) const { return most * std::max(best_, 1.0); }

  const DivergenceOptions options_;
  std::deque<Entry> window_;
  // The ratio of the first fifth of a window since Restart(), or of a whole window that was better.
  double best_ = std::numeric_limits<double>::infinity();
  int refused_ = 0;  // In a row.
};

}  // namespace millrace::pipeline
