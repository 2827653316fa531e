// What makes a learner's network last: it goes back to weights that were good when they have gone
// wrong (SafeLearning), and goes on from checkpoints after any end of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/nn/layer.h"
#include "pipeline/recovery/learner_checkpoints.h"
#include "pipeline/recovery/safe_learning.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// Thread-safe where nothing else is said, from Begin() on. When the network is gone, only to be
/// destroyed.
class LastingLearning {
 public:
  struct Options {
    DivergenceOptions divergence = {};
    /// A copy of the network is taken every so many samples.
    int copy_every = 100;
    /// Without a folder nothing outlives the process.
    CheckpointOptions checkpoints = {};
    /// What is learned, in words: a checkpoint that was learned for another task is refused.
    std::string task;
    /// On which all that is random depends: a checkpoint that was begun with another is refused.
    std::uint64_t seed = 0;
  };

  /// Reads the checkpoints that there are. `chain`: of the network. Fails as
  /// LearnerCheckpoints::Open(), and with FAILED_PRECONDITION where the newest is of another task
  /// or seed.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LastingLearning>> Open(
      Options options, const LayerChain& chain);

  /// Whether Open() would take what is in the folder, without making, locking or changing it.
  [[nodiscard]] static absl::Status Try(const Options& options, const LayerChain& chain);

  LastingLearning(const LastingLearning&) = delete;
  LastingLearning& operator=(const LastingLearning&) = delete;

  /// Constant.
  [[nodiscard]] const Resumption& resumption() const;

  /// Puts what is gone on from into `network`. To be called once, before anything runs.
  void Begin(StagedNetwork& network);

  /// REQUIRES: Begin() was called.
  [[nodiscard]] SafeLearning& safe() { return *safe_; }
  [[nodiscard]] const SafeLearning& safe() const { return *safe_; }

  /// Of this process.
  [[nodiscard]] LearningFigures figures() const;

  /// As Learner::AskForCheckpoint().
  [[nodiscard]] absl::StatusOr<std::int64_t> AskForCheckpoint();

  /// Has a last checkpoint written, and waits for it. `finished`: all that was admitted was learned
  /// from. REQUIRES: nothing runs. Idempotent.
  void Finish(bool finished);

 private:
  explicit LastingLearning(Options options) : options_(std::move(options)) {}

  void Keep(const GoodState& good);
  [[nodiscard]] Checkpoint CheckpointOf(GoodState kept) const;

  // Constant after Begin(), but for their insides.
  const Options options_;
  std::optional<Checkpoint> newest_;  // Until Begin().
  LearningFigures before_;            // Of the processes before, from their checkpoint.
  const StagedNetwork* network_ = nullptr;
  std::unique_ptr<SafeLearning> safe_;
  std::unique_ptr<LearnerCheckpoints> checkpoints_;  // Null: nothing is kept.
};

/// FAILED_PRECONDITION, naming `folder` and both, if `checkpoint` was learned for another task. The
/// same network may learn something else: its weights would be put to a use that they were not made
/// for, without a word.
[[nodiscard]] absl::Status CheckTask(const Checkpoint& checkpoint, const std::string& folder,
                                     const std::string& task);

}  // namespace millrace::pipeline
