// Remembers the last weights of a network that have proven good, and how far it may learn.
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

/// A state that has proven good, and by what.
struct GoodState {
  NetworkState state;
  /// Loss over that of a model that does nothing, of the window of predictions by which it has
  /// proven good; 1: of none.
  double ratio = 1;
};

/// What to go back to when learning has gone wrong. Thread-safe.
class GoodStates {
 public:
  /// `start`: good until another has proven so. Of those that have not, `most_unproven` (2 or more)
  /// are kept: the oldest, the newest, and fewer between them the longer none proves.
  GoodStates(NetworkState start, std::size_t most_unproven)
      : most_unproven_(most_unproven), good_{.state = std::move(start)} {}

  /// A newer state, which may prove good later. Left out, returning false, unless all of it is
  /// finite.
  bool Add(NetworkState state) ABSL_LOCKS_EXCLUDED(mu_);

  /// States after `sample` or before it have proven good (WeightHealth::proven()): those that
  /// had not before, by a window with this ratio. Returns the newest of these.
  std::optional<GoodState> Prove(std::int64_t sample, double ratio) ABSL_LOCKS_EXCLUDED(mu_);

  /// The newest state that has proven good by now. Those that have not never will.
  [[nodiscard]] GoodState Settle() ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether any has proven good, beside what it started with.
  [[nodiscard]] bool any_proven() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Begins anew: `start` is good until another has proven so.
  void Reset(NetworkState start) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Thin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TakeProven() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::size_t most_unproven_;
  mutable Mutex mu_;
  GoodState good_ ABSL_GUARDED_BY(mu_);
  bool any_proven_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<NetworkState> unproven_ ABSL_GUARDED_BY(mu_);  // The oldest first.
  // Of the last Prove(). A state may be added later than it proves: stages copy one by one.
  std::int64_t proven_ ABSL_GUARDED_BY(mu_) = -1;
  double ratio_ ABSL_GUARDED_BY(mu_) = 1;
};

/// The share of the configured learning rate that is in force: halved by each roll-back, and
/// doubled again, up to the whole, after each long time without one. Not thread-safe.
class RateScale {
 public:
  /// So many roll-backs in a row, with no long time without one between two of them, are enough.
  /// The rate is then a 4,096th: of 1, which is as much as can be configured, 0.00024 are left, at
  /// which every network here learns. Where these weights go wrong the rate is not why.
  static constexpr int kMostInARow = 12;

  /// Samples learned from without a roll-back after which it doubles, and the share to begin with.
  explicit RateScale(std::int64_t recover_after, double scale = 1)
      : recover_after_(recover_after), scale_(scale) {}

  /// Each returns the share from now on.
  double OnRollBack();
  double OnLearned();
  /// Counts roll-backs anew. `whole`: the share is 1 again.
  double TryAgain(bool whole);

  [[nodiscard]] double scale() const { return scale_; }
  /// Whether there were kMostInARow.
  [[nodiscard]] bool exhausted() const { return in_a_row_ >= kMostInARow; }

 private:
  const std::int64_t recover_after_;
  double scale_;
  int in_a_row_ = 0;
  std::int64_t quiet_ = 0;
};

}  // namespace millrace::pipeline
