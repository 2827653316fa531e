// Keeps a network that learns from a stream from going wrong, and brings it back when it has.
//
//   health       of the weights, by what they predict
//   states       copies of the network that have proven good
//   roll-back    to the newest of these, with half the learning rate, between two samples
//   giving up    after RateScale::kMostInARow of them: the last good weights stay as they are
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/decisions/adaptive_window.h"
#include "pipeline/decisions/weight_health.h"
#include "pipeline/recovery/good_states.h"
#include "pipeline/recovery/state_collector.h"

namespace millrace::pipeline {

/// What has happened to learning so far. Thread-safe.
struct LearningCounts {
  /// The newest sample that was judged.
  std::atomic<std::int64_t> last_sample = -1;
  std::atomic<std::int64_t> roll_backs = 0;
  /// Times that the loss, relative to that of a model that does nothing, rose for good.
  std::atomic<std::int64_t> drifts = 0;
  /// The share of the configured learning rate in force; 0: learning is given up.
  std::atomic<double> rate_scale = 1;
};

/// The keeper of one network. Each call says on which thread.
class SafeLearning {
 public:
  struct Options {
    DivergenceOptions divergence = {};
    /// A copy of the network is taken every so many samples.
    int copy_every = 100;
    /// Samples learned from without a roll-back after which the learning rate is doubled again.
    std::int64_t recover_after = 2000;
    /// Called with copies that have proven good, and better than a model that does nothing: worth
    /// keeping beyond the process. Each is newer than the one before. On the last stage's thread.
    /// May be empty.
    std::function<void(const GoodState&)> on_good = {};
  };

  /// What learning starts with.
  struct Start {
    /// What the network holds.
    NetworkState state;
    /// What it falls back to if `state` goes wrong at once. Nothing: there is no other.
    std::optional<NetworkState> origin = {};
    /// The share of the configured learning rate in force.
    double rate_scale = 1;
  };

  SafeLearning(const Options& options, Start start);

  /// Of the weights: to be told of each prediction that says something of them, before Judged().
  [[nodiscard]] WeightHealth& health() { return health_; }

  /// What came of a prediction.
  struct Judged {
    std::int64_t sample = 0;
    /// Whether the network learns from the sample.
    bool learned = false;
    /// Its loss beside that of a model that does nothing, before anything learned from it: what
    /// drift is told by. Nothing where it says nothing of what the camera shows.
    std::optional<double> ratio = {};
  };

  /// On the last stage's thread, for each prediction in order. Returns whether the ratio has risen
  /// for good, as this prediction shows: drift.
  bool OnJudged(const Judged& judged, StagedNetwork& network);

  /// A stage that learns from its own loss does so from a sample. On any stage's thread.
  void OnLevelLearns() { ++learned_; }

  /// On each stage's thread, as StagedNetwork::Options::on_update.
  void OnUpdate(const StagedNetwork& network, const Step& update) {
    collector_.OnUpdate(network, update);
  }

  /// Whether the network should go back: it has gone wrong, and there is something to go back to
  /// that it did not just come from. On the thread that admits samples.
  [[nodiscard]] bool RollBackIsDue() const {
    const bool wrong = health_.diverged() || not_finite_ || left_out_ >= most_left_out_;
    return wrong && !gave_up() && (learned_ > 0 || (origin_ && !good_.any_proven()));
  }

  /// Whether the network has gone wrong too often in a row: it has gone back, and nothing may be
  /// learned any more until SetRateFactor() says how far. Updates then go nowhere. Thread-safe.
  [[nodiscard]] bool gave_up() const { return counts_.rate_scale == 0; }

  /// Takes `network` back. On the thread that admits samples. REQUIRES: StagedNetwork::Switch() was
  /// the network's last call, and nothing runs.
  void RollBack(StagedNetwork& network);

  /// What is worth keeping of `network` at its end: what it holds if all of it was `finished` and
  /// nothing speaks against it; else the newest that has proven good. Nothing if that is worse than
  /// a model that does nothing. REQUIRES: nothing runs.
  [[nodiscard]] std::optional<GoodState> Last(const StagedNetwork& network, bool finished);

  /// The learning rate is `factor` of what it would be. Where learning was given up a factor above
  /// 0 lets it begin again: with the whole rate where the factor is another one than before, else
  /// with the share that was left. Thread-safe.
  void SetRateFactor(double factor, StagedNetwork& network);

  /// The share of the configured learning rate to go on with in another process. Thread-safe.
  [[nodiscard]] double rate_share() const ABSL_LOCKS_EXCLUDED(rate_mu_);

  /// What was being copied is given up. REQUIRES: nothing runs.
  void OnSwitch() { collector_.Restart(); }

  [[nodiscard]] const LearningCounts& counts() const { return counts_; }

 private:
  void OnCopy(NetworkState state);
  void TakeProven();
  void ApplyRate(StagedNetwork& network) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(rate_mu_);
  void OnLearned(StagedNetwork& network) ABSL_LOCKS_EXCLUDED(rate_mu_);

  const int most_left_out_;
  const std::function<void(const GoodState&)> on_good_;
  WeightHealth health_;
  GoodStates good_;
  StateCollector collector_;
  LearningCounts counts_;
  std::atomic<std::int64_t> learned_ = 0;  // Samples since the last roll-back.
  std::atomic<bool> not_finite_ = false;   // A copy of the network was not.
  // Samples in a row with an update that was refused for its gradients. Counted by the thread of
  // the last stage.
  std::atomic<int> left_out_ = 0;
  // Of the thread that admits samples.
  std::optional<NetworkState> origin_;
  bool went_back_to_start_ = false;
  // Of the last stage's thread.
  AdaptiveWindow ratios_;
  std::int64_t gradients_not_finite_ = 0;  // At the last sample that was learned from.
  std::int64_t proven_ = -1;               // As WeightHealth's.

  // Held until the network has the rate: no older one comes after it.
  mutable Mutex rate_mu_;
  double rate_factor_ ABSL_GUARDED_BY(rate_mu_) = 1;
  double last_factor_ ABSL_GUARDED_BY(rate_mu_) = 1;  // Above 0.
  RateScale rate_ ABSL_GUARDED_BY(rate_mu_);
};

}  // namespace millrace::pipeline
