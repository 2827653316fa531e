// Runs a user's own network over recorded samples, under any schedule. Users can try pipelined
// learning, or compare it with their own training loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

struct ReplayOptions {
  /// A network that torch.jit saved: its top-level children are the layers.
  std::string model;
  /// A file of the tensors `inputs` and `targets`, sample first.
  std::string samples;
  /// The output file, written at the end: `outputs`, `samples`, `losses`, and `weights.<name>` for
  /// every parameter and buffer.
  std::string output;
  std::string schedule = "sequential";
  /// The number of layers of each stage. Empty: one stage.
  std::vector<int> stages = {};
  /// The schedule's options; the replay fills in shape and costs. With a period in milliseconds, it
  /// measures the layers. Otherwise all stages have the same cost.
  ScheduleRequest request = {};
  OptimizerOptions optimizer = {};
  /// "mse" and "l1": the mean over the elements; "cross_entropy": of logits [1, C] and a class.
  std::string loss = "mse";
  /// Threads of each operation.
  int threads_per_stage = 1;
  /// Seeds the random numbers of layers.
  std::uint64_t seed = 0;
  /// The rank of each stage (CheckRanks()). Empty: this process runs all stages.
  std::vector<int> rank_of_stage = {};
  /// The other processes run FollowReplay() (replay_ranks.h). Called once, after all checks, if the
  /// stages have several ranks.
  JoinRanks join_ranks = {};
  /// Records the operations; outlives the replay. May be null.
  RunHistory* recorder = nullptr;
};

struct ReplaySummary {
  std::int64_t samples = 0;
  int stages = 0;
  /// Mean loss of the first and the last tenth of the samples, at least one sample each.
  double first_loss = 0;
  double last_loss = 0;
  /// Updates of all stages together.
  std::int64_t updates = 0;
  /// The plans that ran.
  Phases phases = {};
};

/// Learns from every sample once, in order, and writes the output. Scores each sample before it
/// learns from it. The same files and options give the same bits, unless a period is given. Fails
/// with INVALID_ARGUMENT or NOT_FOUND, saying what to do, before the run; later with the cause.
[[nodiscard]] absl::StatusOr<ReplaySummary> Replay(const ReplayOptions& options);

}  // namespace millrace::pipeline
