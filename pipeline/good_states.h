// Remembers the last weights of a network that have proven good, and how far it may learn.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/network_state.h"

namespace millrace::pipeline {

/// What to go back to when learning has gone wrong. Thread-safe.
class GoodStates {
 public:
  /// `start`: good until another has proven so.
  explicit GoodStates(NetworkState start) : good_(std::move(start)) {}

  /// A newer state, which may prove good later: by now, states after sample `proven` or before it
  /// have (LearningDecisions). Left out unless all of it is finite.
  void Add(NetworkState state, std::int64_t proven) ABSL_LOCKS_EXCLUDED(mu_);

  /// The newest state that has proven good.
  [[nodiscard]] NetworkState Newest() const ABSL_LOCKS_EXCLUDED(mu_);

  /// What is not known to be good yet never will be.
  void Forget() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Settle(std::int64_t proven) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  NetworkState good_ ABSL_GUARDED_BY(mu_);
  std::deque<NetworkState> unproven_ ABSL_GUARDED_BY(mu_);  // The oldest first.
};

/// The share of the configured learning rate that is in force: halved by each roll-back, and
/// doubled again, up to the whole, after each long time without one. Not thread-safe.
class RateScale {
 public:
  /// Samples without a roll-back after which it doubles.
  explicit RateScale(std::int64_t recover_after) : recover_after_(recover_after) {}

  /// Each returns the share from now on.
  double OnRollBack();
  double OnSample();

 private:
  const std::int64_t recover_after_;
  double scale_ = 1;
  std::int64_t quiet_ = 0;
};

}  // namespace millrace::pipeline
