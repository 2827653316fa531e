// Watches a network that learns from a stream, and rolls it back when its weights have gone wrong.
//
//   health       of the weights, from their predictions
//   states       copies of the network that have proven good
//   roll-back    to the newest of these, with half the learning rate, between two samples
//   giving up    after RateScale::kMostInARow roll-backs: the last good weights stay unchanged
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/decisions/adaptive_window.h"
#include "pipeline/decisions/divergence_detector.h"
#include "pipeline/recovery/good_states.h"
#include "pipeline/recovery/state_collector.h"

namespace millrace::pipeline {

/// Counts of the events of learning so far. Thread-safe.
struct LearningCounts {
  /// The newest sample whose prediction was scored.
  std::atomic<std::int64_t> last_sample = -1;
  std::atomic<std::int64_t> roll_backs = 0;
  /// Times that the loss, relative to the zero-output loss, rose and stayed high.
  std::atomic<std::int64_t> drifts = 0;
  /// The effective share of the configured learning rate; 0: learning gave up.
  std::atomic<double> rate_scale = 1;
};

/// Protects one network. The comment of each function names its thread.
class SafeLearning {
 public:
  struct Options {
    DivergenceOptions divergence = {};
    /// Copies the network every n samples.
    int copy_every = 100;
    /// The number of learned samples without a roll-back after which the learning rate doubles
    /// again.
    std::int64_t recover_after = 2000;
    /// Called with each proven copy that is better than a zero output, for checkpoints. Each is
    /// newer than the one before. On the last stage's thread. May be empty.
    std::function<void(const GoodState&)> on_good = {};
  };

  /// The initial state of learning.
  struct Start {
    /// The state of the network.
    NetworkState state;
    /// The fallback if `state` goes wrong at once. nullopt: no fallback.
    std::optional<NetworkState> origin = {};
    /// The effective share of the configured learning rate.
    double rate_scale = 1;
  };

  SafeLearning(const Options& options, Start start);

  /// The health of the weights. It must get each prediction that gives information about them,
  /// before OnJudged() for that prediction.
  [[nodiscard]] DivergenceDetector& detector() { return detector_; }

  /// The result of a scored prediction.
  struct Judged {
    std::int64_t sample = 0;
    /// Whether the network learns from the sample.
    bool learned = false;
    /// Its loss divided by the zero-output loss, before the network learned from it. Drift
    /// detection reads it. nullopt if it gives no information about the camera's scene.
    std::optional<double> ratio = {};
  };

  /// Call it on the last stage's thread, for each prediction in order. Returns whether this
  /// prediction shows a drift: the ratio has risen and stays high.
  bool OnJudged(const Judged& judged, StagedNetwork& network);

  /// Counts a sample for a stage that learns from its own loss. On any stage's thread.
  void OnLevelLearns() { ++learned_; }

  /// On each stage's thread, as StagedNetwork::Options::on_update.
  void OnUpdate(const StagedNetwork& network, const Step& update) {
    collector_.OnUpdate(network, update);
  }

  /// Whether the network should roll back: it has gone wrong, and there is a state that it did not
  /// just come from. On the thread that admits samples.
  [[nodiscard]] bool RollBackIsDue() const {
    const bool wrong = detector_.diverged() || not_finite_ || left_out_ >= most_left_out_;
    return wrong && !gave_up() && (learned_ > 0 || (origin_ && !good_.any_proven()));
  }

  /// Whether the network has gone wrong too often in a row. It has then rolled back, and updates
  /// have no effect until SetRateFactor(). Thread-safe.
  [[nodiscard]] bool gave_up() const { return counts_.rate_scale == 0; }

  /// Rolls `network` back. On the thread that admits samples. REQUIRES: StagedNetwork::Switch() was
  /// the network's last call, and nothing runs.
  void RollBack(StagedNetwork& network);

  /// The state of `network` at its end, for a checkpoint: the current state if learning has
  /// `finished` and the weights are sound, otherwise the newest proven state. nullopt if that
  /// state is worse than a zero output. REQUIRES: nothing runs.
  [[nodiscard]] std::optional<GoodState> Last(const StagedNetwork& network, bool finished);

  /// Multiplies the learning rate by `factor`. If learning gave up, a factor above 0 restarts it:
  /// with the full rate if the factor has changed, and otherwise with the remaining share.
  /// Thread-safe.
  void SetRateFactor(double factor, StagedNetwork& network);

  /// The share of the configured learning rate for the next process. Thread-safe.
  [[nodiscard]] double rate_share() const ABSL_LOCKS_EXCLUDED(rate_mu_);

  /// Discards incomplete copies. REQUIRES: nothing runs.
  void OnSwitch() { collector_.Restart(); }

  [[nodiscard]] const LearningCounts& counts() const { return counts_; }

 private:
  void OnCopy(NetworkState state);
  void TakeProven();
  void ApplyRate(StagedNetwork& network) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(rate_mu_);
  void OnLearned(StagedNetwork& network) ABSL_LOCKS_EXCLUDED(rate_mu_);

  const int most_left_out_;
  const std::function<void(const GoodState&)> on_good_;
  DivergenceDetector detector_;
  GoodStates good_;
  StateCollector collector_;
  LearningCounts counts_;
  std::atomic<std::int64_t> learned_ = 0;  // Samples since the last roll-back.
  std::atomic<bool> not_finite_ = false;   // Whether a copy of the network was not finite.
  // Samples in a row with an update that was rejected for its gradients. Written by the last
  // stage's thread.
  std::atomic<int> left_out_ = 0;
  // For the thread that admits samples.
  std::optional<NetworkState> origin_;
  bool went_back_to_start_ = false;
  // For the last stage's thread.
  AdaptiveWindow ratios_;
  std::int64_t gradients_not_finite_ = 0;  // At the last learned sample.
  std::int64_t proven_ = -1;               // The last value of DivergenceDetector::proven().

  // Held until the network has the rate, so that an older rate cannot overwrite it.
  mutable Mutex rate_mu_;
  double rate_factor_ ABSL_GUARDED_BY(rate_mu_) = 1;
  double last_factor_ ABSL_GUARDED_BY(rate_mu_) = 1;  // Above 0.
  RateScale rate_ ABSL_GUARDED_BY(rate_mu_);
};

}  // namespace millrace::pipeline
