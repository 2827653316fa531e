// The guard over a learner's weights, asked by the thread that judges predictions and read by all.
#pragma once

#include <atomic>
#include <cstdint>

#include "pipeline/decisions/divergence_guard.h"
#include "pipeline/decisions/skip_reason.h"

namespace millrace::pipeline {

/// Thread-safe where nothing else is said.
class WeightHealth {
 public:
  explicit WeightHealth(const DivergenceOptions& options) : guard_(options) {}

  /// As DivergenceGuard::Next(). On the thread that judges predictions.
  [[nodiscard]] SkipReason Next(const PredictionHealth& health);

  /// As DivergenceGuard::Glimpse(). On the same thread.
  void Glimpse(bool finite);

  /// Whether the weights should be given up for older ones.
  [[nodiscard]] bool diverged() const { return diverged_; }

  /// The newest sample whose weights have proven good: a whole window of predictions after it was
  /// healthy (DivergenceGuard), the first of which were made before those weights, as long as the
  /// pipeline is; -1: none.
  [[nodiscard]] std::int64_t proven() const { return proven_; }

  /// Whether nothing speaks against the newest weights.
  [[nodiscard]] bool sound() const { return sound_; }

  /// Loss over that of no motion, of the last window; 1 before it is full.
  [[nodiscard]] double ratio() const { return ratio_; }

  /// Starts judging anew, with other weights. REQUIRES: nothing else is called meanwhile.
  void Restart();

 private:
  DivergenceGuard guard_;
  std::atomic<bool> diverged_ = false;
  std::atomic<bool> sound_ = true;
  std::atomic<std::int64_t> proven_ = -1;
  std::atomic<double> ratio_ = 1;
};

}  // namespace millrace::pipeline
