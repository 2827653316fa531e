// The checkpoints of a learner at work: what it goes on from, and the thread that writes them while
// it learns.
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
#include "pipeline/learner/learner_safety.h"
#include "pipeline/recovery/checkpoints.h"

namespace millrace::pipeline {

/// Thread-safe. The learner that offers must not outlive it.
class LearnerCheckpoints {
 public:
  /// Opens the folder, reads what is there, and sets aside what is damaged. Fails as
  /// Checkpoints::Open() and Read() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LearnerCheckpoints>> Open(
      const CheckpointOptions& options, const LayerChain& chain);

  LearnerCheckpoints(const LearnerCheckpoints&) = delete;
  LearnerCheckpoints& operator=(const LearnerCheckpoints&) = delete;
  /// Writes what waits.
  ~LearnerCheckpoints() { Finish(std::nullopt); }

  [[nodiscard]] const Resumption& resumption() const { return resumption_; }
  /// What was read; moved away by the one who goes on from it. To be called before anything else.
  [[nodiscard]] std::optional<Checkpoint> TakeNewest() { return std::move(newest_); }

  /// Whether a checkpoint after `sample` would be written.
  [[nodiscard]] bool IsDue(std::int64_t sample) const ABSL_LOCKS_EXCLUDED(mu_);

  /// The next one is due, whenever the last one was, and kept. Returns the number of the request.
  std::int64_t WantOne() ABSL_LOCKS_EXCLUDED(mu_);

  /// Has it written soon; one that still waits is given up for it. Never waits.
  void Offer(Checkpoint checkpoint) ABSL_LOCKS_EXCLUDED(mu_);

  /// Has `last` written too, unless it was before, and waits until all is. Nothing can be offered
  /// afterwards, and another may have the folder. Idempotent.
  void Finish(std::optional<Checkpoint> last) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] CheckpointFigures figures() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  LearnerCheckpoints(const CheckpointOptions& options, Checkpoints checkpoints,
                     Checkpoints::Found found);

  /// What is to be written, and the last request that it answers; 0: none.
  struct Task {
    Checkpoint checkpoint;
    std::int64_t answers = 0;
  };

  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Write(const Checkpoint& checkpoint);
  [[nodiscard]] std::optional<Task> Next() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool IsWanted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return asked_ > answered_;
  }
  void Note(std::int64_t sample, const absl::Status& written, std::chrono::nanoseconds took)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction, but for the writer's thread.
  const CheckpointOptions options_;
  Resumption resumption_;
  std::optional<Checkpoint> newest_;
  Checkpoints checkpoints_;

  mutable Mutex mu_;
  CondVar changed_;
  std::optional<Checkpoint> waiting_ ABSL_GUARDED_BY(mu_);
  // After which sample the last was written or offered; before the first, what was gone on from.
  std::int64_t last_ ABSL_GUARDED_BY(mu_);
  // Requests so far, and the last of those that what was written, or is being written, answers.
  std::int64_t asked_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  CheckpointFigures figures_ ABSL_GUARDED_BY(mu_);

  std::jthread writer_;
};

}  // namespace millrace::pipeline
