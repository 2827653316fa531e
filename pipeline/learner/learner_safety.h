// The safety of a learner, as users configure and see it: checkpoints, and the health of learning.
// Free of LibTorch, like learner.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// The position of a learner's source, from which it continues its numbers.
struct SourcePosition {
  /// Received frames and begun epochs. They are the numbers of the next ones.
  std::int64_t frames = 0;
  std::int64_t epochs = 0;

  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};

/// The result of an attempt to write a checkpoint.
struct CheckpointWritten {
  /// Why it failed, or OK.
  absl::Status status = {};
  /// The checkpoint's name.
  std::string name = {};
  /// The number of the newest request that it answers; it also answers all older open requests
  /// (Learner's AskForCheckpoint()). 0: it answers no request.
  std::int64_t answers = 0;
};

/// Whether and where a learner keeps its state.
struct CheckpointOptions {
  /// For one learner of one process. The learner resumes from the folder's content. Empty: keeps no
  /// state.
  std::string folder = {};
  /// Writes a checkpoint every n samples, of weights that have proven good. At least 1.
  int every = 1000;
  /// The number of newest checkpoints to keep, besides the best. At least 1.
  int keep = 3;
};

/// The checkpoints of a learner in this process.
struct CheckpointFigures {
  std::int64_t written = 0;
  std::int64_t failed = 0;
  /// All learning up to this time is saved. Time since 1970 of the last written checkpoint; before
  /// the first, the start of the learner. nullopt: keeps no checkpoints.
  std::optional<std::chrono::nanoseconds> kept_until = {};
  /// The total time of writing, including failed attempts.
  std::chrono::nanoseconds writing{0};
};

/// The health of learning so far, in this process.
struct LearningFigures {
  /// Roll-backs: the weights had gone wrong, and older proven weights replaced them.
  std::int64_t roll_backs = 0;
  /// Times that the loss rose and stayed high.
  std::int64_t drifts = 0;
  /// Gradients that were not finite. The stage where one appeared, and the stages before it, did
  /// not learn from the sample.
  std::int64_t gradients_not_finite = 0;
  /// The effective share of the configured learning rate. Roll-backs reduce it; 0: learning gave
  /// up.
  double rate_scale = 1;
  CheckpointFigures checkpoints = {};
};

/// The checkpoint from which a learner resumes, and its position.
struct Resumption {
  /// The folder of the checkpoint. Empty: there was none, and it starts with the configured
  /// weights.
  std::string checkpoint = {};
  /// The number of the first sample: 0, or the one after the checkpoint's last.
  std::int64_t first_sample = 0;
  /// The position of the source at the time of the checkpoint.
  SourcePosition position = {};
  /// The optimizer of the checkpoint, if its state does not fit the configured one, which therefore
  /// begins with an empty state. Empty: it continues.
  std::string other_optimizer = {};
  /// Why newer checkpoints were rejected. Each names the file and the error.
  std::vector<absl::Status> refused = {};
};

}  // namespace millrace::pipeline
