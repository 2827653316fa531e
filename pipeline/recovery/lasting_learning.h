// Protects a learner's network: rolls back to good weights when the weights have gone wrong
// (SafeLearning), and resumes from checkpoints after any end of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/nn/layer.h"
#include "pipeline/recovery/learner_checkpoints.h"
#include "pipeline/recovery/safe_learning.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// Thread-safe from Begin() on, except where noted. After the network's destruction, only the
/// destructor may be called.
class LastingLearning {
 public:
  struct Options {
    DivergenceOptions divergence = {};
    /// Copies the network every n samples.
    int copy_every = 100;
    /// Without a folder, no state outlives the process.
    CheckpointOptions checkpoints = {};
    LearnerHooks hooks = {};
    /// The learning task, as text. Rejects checkpoints of another task.
    std::string task;
    /// The seed of all random numbers. Rejects checkpoints of another seed.
    std::uint64_t seed = 0;
  };

  /// Reads the checkpoints. `chain`: the network. Fails as LearnerCheckpoints::Open() does, and
  /// with FAILED_PRECONDITION if the newest checkpoint has another task or seed.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LastingLearning>> Open(
      Options options, const LayerChain& chain);

  /// Whether Open() would accept the folder's content. Makes, locks and changes nothing.
  [[nodiscard]] static absl::Status Try(const Options& options, const LayerChain& chain);

  LastingLearning(const LastingLearning&) = delete;
  LastingLearning& operator=(const LastingLearning&) = delete;

  /// Constant.
  [[nodiscard]] const Resumption& resumption() const;

  /// Restores the resumed state into `network`. Call it once, before the network runs.
  void Begin(StagedNetwork& network);

  /// REQUIRES: Begin() was called.
  [[nodiscard]] SafeLearning& safe() { return *safe_; }
  [[nodiscard]] const SafeLearning& safe() const { return *safe_; }

  /// Figures of this process.
  [[nodiscard]] LearningFigures figures() const;

  /// As Learner::AskForCheckpoint().
  [[nodiscard]] absl::StatusOr<std::int64_t> AskForCheckpoint();

  /// Writes a last checkpoint, and waits for it. `finished`: all admitted samples were learned
  /// from. REQUIRES: nothing runs. Idempotent.
  void Finish(bool finished);

 private:
  explicit LastingLearning(Options options) : options_(std::move(options)) {}

  void Keep(const GoodState& good);
  [[nodiscard]] Checkpoint CheckpointOf(GoodState kept) const;

  // The members are constant after Begin(), but not their content.
  const Options options_;
  std::optional<Checkpoint> newest_;  // Until Begin().
  LearningFigures before_;            // Figures of earlier processes, from their checkpoint.
  const StagedNetwork* network_ = nullptr;
  std::unique_ptr<SafeLearning> safe_;
  std::unique_ptr<LearnerCheckpoints> checkpoints_;  // Null: keeps no checkpoints.
};

/// Fails with FAILED_PRECONDITION, naming `folder` and both tasks, if `checkpoint` was learned for
/// another task. The same network may learn several tasks; without this check, its weights could
/// silently be used for the wrong one.
[[nodiscard]] absl::Status CheckTask(const Checkpoint& checkpoint, const std::string& folder,
                                     const std::string& task);

}  // namespace millrace::pipeline
