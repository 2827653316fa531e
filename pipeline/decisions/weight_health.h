// The guard of a learner's weights. The thread that scores predictions updates it; all threads read
// it.
#pragma once

#include <atomic>
#include <cstdint>

#include "pipeline/decisions/divergence_guard.h"
#include "pipeline/decisions/skip_reason.h"

namespace millrace::pipeline {

/// Thread-safe, except where noted.
class WeightHealth {
 public:
  explicit WeightHealth(const DivergenceOptions& options) : guard_(options) {}

  /// As DivergenceGuard::Next(). On the thread that scores predictions.
  [[nodiscard]] SkipReason Next(const PredictionHealth& health);

  /// As DivergenceGuard::Glimpse(). On the same thread.
  void Glimpse(bool finite);

  /// Whether older weights should replace the current ones.
  [[nodiscard]] bool diverged() const { return diverged_; }

  /// The newest sample whose weights have proven good; -1: none. A whole window of predictions
  /// after it was healthy (DivergenceGuard). Its first predictions were made by older weights, as
  /// many as the pipeline is deep.
  [[nodiscard]] std::int64_t proven() const { return proven_; }

  /// Whether the newest weights show no problem.
  [[nodiscard]] bool sound() const { return sound_; }

  /// Loss divided by the loss of no motion, over the last window; 1 before it is full.
  [[nodiscard]] double ratio() const { return ratio_; }

  /// Restarts with other weights. REQUIRES: no other call runs at the same time.
  void Restart();

 private:
  DivergenceGuard guard_;
  std::atomic<bool> diverged_ = false;
  std::atomic<bool> sound_ = true;
  std::atomic<std::int64_t> proven_ = -1;
  std::atomic<double> ratio_ = 1;
};

}  // namespace millrace::pipeline
