// What keeps a learner safe, as those who run one set it and see it: checkpoints, and what has
// become of learning. Free of LibTorch, like learner.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// How far a learner's source is, in the source's own terms: where it numbers on.
struct SourcePosition {
  /// Frames that have come, and epochs that have begun: the numbers of the next ones.
  std::int64_t frames = 0;
  std::int64_t epochs = 0;

  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};

/// What came of an attempt to write a checkpoint.
struct CheckpointWritten {
  /// Why it failed, or OK.
  absl::Status status = {};
  /// The checkpoint's name.
  std::string name = {};
  /// It was asked for, by this request and all before that had no answer (Learner's
  /// AskForCheckpoint()). 0: by none.
  std::int64_t answers = 0;
};

/// Whether and where a learner keeps what it has learned.
struct CheckpointOptions {
  /// For one learner of one process. What is there already is gone on from. Empty: nothing is kept.
  std::string folder = {};
  /// A checkpoint is written every so many samples, of weights that have proven good. At least 1.
  int every = 1000;
  /// So many of the newest are kept, and the best besides. At least 1.
  int keep = 3;
  /// Told what came of each attempt to write one, from a thread of the learner. May be empty.
  std::function<void(const CheckpointWritten&)> on_write = {};
  /// Asked for each checkpoint, from a thread of the learner: kept there, and handed back by
  /// Resumption. May be empty.
  std::function<SourcePosition()> position = {};
};

/// What has become of a learner's checkpoints, in this process.
struct CheckpointFigures {
  std::int64_t written = 0;
  std::int64_t failed = 0;
  /// What was learned until then is kept, since 1970: when the last one was written, or, before the
  /// first, when the learner began with what it found. Absent: none are kept.
  std::optional<std::chrono::nanoseconds> kept_until = {};
  /// How long writing took, of all that were written or failed.
  std::chrono::nanoseconds writing{0};
};

/// What has become of learning so far, in this process.
struct LearningFigures {
  /// Times that the weights had gone wrong and older ones that had proven good took their place.
  std::int64_t roll_backs = 0;
  /// Times that the loss rose for good.
  std::int64_t drifts = 0;
  /// Gradients that were not finite: where they came up, and in the stages before, nothing was
  /// learned from the sample.
  std::int64_t gradients_not_finite = 0;
  /// The share of the configured learning rate in force: less after roll-backs; 0: it gave up.
  double rate_scale = 1;
  CheckpointFigures checkpoints = {};
};

/// What a learner goes on from, and where.
struct Resumption {
  /// The checkpoint: its folder. Empty: there was none, and it begins with the weights configured.
  std::string checkpoint = {};
  /// The number of the first sample that it takes: 0, or the one after the checkpoint's last.
  std::int64_t first_sample = 0;
  /// Where the source was when the checkpoint was made.
  SourcePosition position = {};
  /// Why newer checkpoints were passed over: each names what is wrong with which file.
  std::vector<absl::Status> refused = {};
};

}  // namespace millrace::pipeline
