// Stores the last proven weights of a network, and the scale of its learning rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/nn/network_state.h"

namespace millrace::pipeline {

/// A state that has proven good, and its ratio.
struct GoodState {
  NetworkState state;
  /// Loss divided by the zero-output loss, over the window of predictions that proved it; 1 if it
  /// was not proven.
  double ratio = 1;
};

/// The states for a roll-back. Thread-safe.
class GoodStates {
 public:
  /// `start` counts as good until another state has proven good. Of the unproven states,
  /// `most_unproven` (2 or more) are kept: the oldest, the newest, and a thinned selection between
  /// them.
  GoodStates(NetworkState start, std::size_t most_unproven)
      : most_unproven_(most_unproven), good_{.state = std::move(start)} {}

  /// Adds a newer state, which may prove good later. Ignores it and returns false unless all its
  /// numbers are finite.
  bool Add(NetworkState state) ABSL_LOCKS_EXCLUDED(mu_);

  /// The states up to `sample` have proven good (DivergenceDetector::proven()), by a window with
  /// this ratio. Returns the newest state that this proves.
  std::optional<GoodState> Prove(std::int64_t sample, double ratio) ABSL_LOCKS_EXCLUDED(mu_);

  /// The newest state that has proven good. Discards all unproven states.
  [[nodiscard]] GoodState Settle() ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether a state besides `start` has proven good.
  [[nodiscard]] bool any_proven() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Restarts: `start` counts as good until another state has proven good.
  void Reset(NetworkState start) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Thin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TakeProven() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::size_t most_unproven_;
  mutable Mutex mu_;
  GoodState good_ ABSL_GUARDED_BY(mu_);
  bool any_proven_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<NetworkState> unproven_ ABSL_GUARDED_BY(mu_);  // The oldest first.
  // From the last Prove(). A state may be added after the sample that proves it, because stages
  // copy one by one.
  std::int64_t proven_ ABSL_GUARDED_BY(mu_) = -1;
  double ratio_ ABSL_GUARDED_BY(mu_) = 1;
};

/// The effective share of the configured learning rate. Each roll-back halves it. After each long
/// time without a roll-back, it doubles, up to 1. Not thread-safe.
class RateScale {
 public:
  /// The limit of roll-backs in a row, without a long time between two of them. The rate is then a
  /// 4,096th: 0.00024 of the largest configurable rate, 1. Every network here learns at that rate,
  /// so the rate is not the cause of further failures.
  static constexpr int kMostInARow = 12;

  /// The number of learned samples without a roll-back after which it doubles, and the initial
  /// share.
  explicit RateScale(std::int64_t recover_after, double scale = 1)
      : recover_after_(recover_after), scale_(scale) {}

  /// Each returns the new share.
  double OnRollBack();
  double OnLearned();
  /// Resets the count of roll-backs. `whole`: also resets the share to 1.
  double TryAgain(bool whole);

  [[nodiscard]] double scale() const { return scale_; }
  /// Whether there were kMostInARow roll-backs in a row.
  [[nodiscard]] bool exhausted() const { return in_a_row_ >= kMostInARow; }

 private:
  const std::int64_t recover_after_;
  double scale_;
  int in_a_row_ = 0;
  std::int64_t quiet_ = 0;
};

}  // namespace millrace::pipeline
