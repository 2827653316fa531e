// The checkpoints of a running learner: reads the state to resume from, and writes new checkpoints
// on its own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/recovery/checkpoints.h"

namespace millrace::pipeline {

/// Thread-safe. Must outlive the learner that calls Offer().
class CheckpointWriter {
 public:
  /// Opens the folder, reads its checkpoints, and sets aside the damaged ones. Fails as
  /// Checkpoints::Open() and Read() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CheckpointWriter>> Open(
      const CheckpointOptions& options, const LearnerHooks& hooks, const LayerChain& chain);

  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Writes the queued checkpoint.
  ~CheckpointWriter() { Finish(std::nullopt); }

  [[nodiscard]] const Resumption& resumption() const { return resumption_; }
  /// Moves out the checkpoint to resume from. Call it before all other functions.
  [[nodiscard]] std::optional<Checkpoint> TakeNewest() { return std::move(newest_); }

  /// Whether a checkpoint after `sample` would be written.
  [[nodiscard]] bool IsDue(std::int64_t sample) const ABSL_LOCKS_EXCLUDED(mu_);

  /// Makes the next checkpoint due at once, and keeps it. Returns the number of the request.
  std::int64_t Request() ABSL_LOCKS_EXCLUDED(mu_);

  /// Queues a checkpoint to be written soon; it replaces one that is still queued. Never waits.
  void Offer(Checkpoint checkpoint) ABSL_LOCKS_EXCLUDED(mu_);

  /// Also writes `last`, unless it was written before, and waits until all checkpoints are written.
  /// Later offers are ignored, and another owner may lock the folder. Idempotent.
  void Finish(std::optional<Checkpoint> last) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] CheckpointFigures figures() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  CheckpointWriter(const CheckpointOptions& options, const LearnerHooks& hooks,
                   Checkpoints checkpoints, Checkpoints::Found found);

  /// A checkpoint to write, and the last request that it answers; 0: no request.
  struct Task {
    Checkpoint checkpoint;
    std::int64_t answers = 0;
  };

  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  void Do(const Task& task) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Write(const Checkpoint& checkpoint);
  [[nodiscard]] std::optional<Task> Next() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool IsRequested() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return requested_ > answered_;
  }
  void Note(std::int64_t sample, const absl::Status& written, std::chrono::nanoseconds took)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction, except for the writer's thread.
  const CheckpointOptions options_;
  const LearnerHooks hooks_;
  Resumption resumption_;
  std::optional<Checkpoint> newest_;
  Checkpoints checkpoints_;

  mutable Mutex mu_;
  CondVar changed_;
  std::optional<Checkpoint> waiting_ ABSL_GUARDED_BY(mu_);
  // The sample of the last written or offered checkpoint; before the first, of the resumed one.
  std::int64_t last_ ABSL_GUARDED_BY(mu_);
  // The number of requests, and the last one that a written, or currently writing, checkpoint
  // answers.
  std::int64_t requested_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  CheckpointFigures figures_ ABSL_GUARDED_BY(mu_);

  std::jthread writer_;
};

}  // namespace millrace::pipeline
