// Recovers a learner's network from divergence and from any end of the process.
//
//   detect       from predictions (DivergenceDetector), values that are not finite, and updates
//                that are skipped
//   snapshot     each stage copies its weights every `copy_every` samples (SnapshotCollector); the
//                copies that prove good are kept (SnapshotStore)
//   roll back    to the newest of these, with half the learning rate, between two samples
//   give up      after RateBackoff::kMaxRollBacks roll-backs in a row: the last good weights stay
//                unchanged
//   restore      the newest of these, without another rate, after stages on other hosts are lost
//   resume       from the newest checkpoint: a snapshot that is better than no model, on disk
//                (CheckpointWriter)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/decisions/adaptive_window.h"
#include "pipeline/decisions/divergence_detector.h"
#include "pipeline/decisions/rate_backoff.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/recovery/checkpoint_writer.h"
#include "pipeline/recovery/snapshot_collector.h"
#include "pipeline/recovery/snapshot_store.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// The recovery of one network. The comment of each function names its thread; without one it is
/// thread-safe from Begin() on. After the network's destruction, only the destructor may be called.
class Recovery {
 public:
  struct Options {
    DivergenceOptions divergence = {};
    /// Takes a snapshot every n samples.
    int copy_every = 100;
    /// Without a folder, no state outlives the process.
    CheckpointOptions checkpoints = {};
    LearnerHooks hooks = {};
    /// The learning task, as text. Rejects checkpoints of another task.
    std::string task = {};
    /// OptimizerStateInWords(). With a checkpoint of another one, the optimizer's state begins
    /// empty.
    std::string optimizer = {};
    /// The seed of all random numbers. Rejects checkpoints of another seed.
    std::uint64_t seed = 0;
  };

  /// Reads the checkpoints. `chain`: the network. Fails as CheckpointWriter::Open() does, and
  /// with FAILED_PRECONDITION if the newest checkpoint has another task or seed.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Recovery>> Open(const Options& options,
                                                                      const LayerChain& chain);

  /// Whether Open() would accept the folder's content. Makes, locks and changes nothing.
  [[nodiscard]] static absl::Status Try(const Options& options, const LayerChain& chain);

  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// Constant.
  [[nodiscard]] const Resumption& resumption() const { return resumption_; }

  /// Restores the resumed state into `network`. Call it once, before the network runs.
  void Begin(StagedNetwork& network);

  /// The detector of diverged weights. It must get each prediction that gives information about
  /// them, before OnScored() for that prediction.
  [[nodiscard]] DivergenceDetector& detector() { return detector_; }

  /// A scored prediction.
  struct Scored {
    std::int64_t sample = 0;
    /// Whether the network learns from the sample.
    bool learned = false;
    /// Its loss divided by the zero-output loss, before the network learned from it. Drift
    /// detection reads it. nullopt if it gives no information about the camera's scene.
    std::optional<double> ratio = {};
  };

  /// Call it on the last stage's thread, for each prediction in order. Returns whether this
  /// prediction shows a drift: the ratio has risen and stays high.
  bool OnScored(const Scored& scored);

  /// Counts a sample for a stage that learns from its own loss. On any stage's thread.
  void OnLevelLearns() { ++learned_; }

  /// On each stage's thread, as StagedNetwork::Options::on_update.
  void OnUpdate(const Step& update) { collector_.OnUpdate(*network_, update); }

  /// Discards incomplete snapshots. REQUIRES: nothing runs.
  void OnSwitch() { collector_.Restart(); }

  /// The optimizer has other options from now on. If learning was given up, it resumes with the
  /// whole learning rate. Thread-safe.
  void OnOptimizer() ABSL_LOCKS_EXCLUDED(rate_mu_);

  /// Whether the network should roll back: it has diverged, and there is a state that it did not
  /// just come from. On the thread that admits samples.
  [[nodiscard]] bool RollBackIsDue() const;

  /// Rolls the network back. On the thread that admits samples. REQUIRES: StagedNetwork::Switch()
  /// was the network's last call, and nothing runs.
  void RollBack();

  /// Restores the newest state that has proven good, without a change of the learning rate. For a
  /// network whose stages on other ranks are lost. REQUIRES: nothing runs.
  void RestoreGood() { Restore(snapshots_.Settle().state); }

  /// Whether the network has diverged too often in a row. It has then rolled back, and updates have
  /// no effect until SetRateFactor().
  [[nodiscard]] bool gave_up() const { return rate_scale_ == 0; }

  /// Multiplies the learning rate by `factor`. If learning gave up, a factor above 0 restarts it:
  /// with the full rate if the factor has changed, and otherwise with the remaining share.
  void SetRateFactor(double factor) ABSL_LOCKS_EXCLUDED(rate_mu_);

  /// The share of the configured learning rate for the next process.
  [[nodiscard]] double rate_share() const ABSL_LOCKS_EXCLUDED(rate_mu_);

  /// Figures of this process.
  [[nodiscard]] LearningFigures figures() const;

  /// As Learner::AskForCheckpoint().
  [[nodiscard]] absl::StatusOr<std::int64_t> AskForCheckpoint();

  /// Writes a last checkpoint, and waits for it. `finished`: all admitted samples were learned
  /// from. If the weights cannot be copied, because a GPU has failed, writes the last good ones,
  /// and fails as FailureOf(). REQUIRES: nothing runs. Idempotent.
  [[nodiscard]] absl::Status Finish(bool finished);

 private:
  explicit Recovery(const Options& options);

  void Restore(const NetworkState& good);
  void OnSnapshot(NetworkState state);
  void OnProven();
  void OnLearned() ABSL_LOCKS_EXCLUDED(rate_mu_);
  void ApplyRate() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(rate_mu_);
  [[nodiscard]] std::optional<Snapshot> Last(bool finished);
  [[nodiscard]] Checkpoint CheckpointOf(Snapshot snapshot) const;

  // Constant after Begin(), except their content.
  const Options options_;
  std::unique_ptr<CheckpointWriter> writer_;  // Null: keeps no checkpoints.
  std::optional<Checkpoint> newest_;          // Until Begin().
  Resumption resumption_;
  LearningFigures before_;  // Figures of earlier processes, from their checkpoint.
  StagedNetwork* network_ = nullptr;

  // Thread-safe.
  DivergenceDetector detector_;
  SnapshotStore snapshots_;
  SnapshotCollector collector_;
  std::atomic<std::int64_t> roll_backs_ = 0;
  std::atomic<std::int64_t> drifts_ = 0;
  std::atomic<double> rate_scale_ = 1;     // The effective share; 0: gave up.
  std::atomic<std::int64_t> learned_ = 0;  // Samples since the last roll-back.
  std::atomic<bool> not_finite_ = false;   // Whether a snapshot was not finite.
  // Samples in a row with an update that was skipped for its gradients. Written by the last stage's
  // thread.
  std::atomic<int> skipped_ = 0;

  // For the thread that admits samples.
  std::optional<NetworkState> origin_;  // The fallback if the resumed state diverges at once.
  bool went_back_to_start_ = false;

  // For the last stage's thread.
  AdaptiveWindow ratios_;
  std::int64_t last_sample_ = -1;          // The newest sample whose prediction was scored.
  std::int64_t gradients_not_finite_ = 0;  // At the last learned sample.
  std::int64_t proven_ = -1;               // The last value of DivergenceDetector::proven().

  // Held until the network has the rate, so that an older rate cannot overwrite it.
  mutable Mutex rate_mu_;
  double rate_factor_ ABSL_GUARDED_BY(rate_mu_) = 1;
  double last_factor_ ABSL_GUARDED_BY(rate_mu_) = 1;  // Above 0.
  RateBackoff rate_ ABSL_GUARDED_BY(rate_mu_);
};

}  // namespace millrace::pipeline
