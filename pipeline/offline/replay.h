// Runs a user's own network over recorded samples, under any schedule: pipelined learning to try
// out or to compare with a loop of one's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/timeline/run_recorder.h"

namespace millrace::pipeline {

struct ReplayOptions {
  /// A network that torch.jit saved: its top-level children are the layers.
  std::string model;
  /// Tensors `inputs` and `targets`, sample first.
  std::string samples;
  /// Written at the end: `outputs`, `samples`, `losses`, and `weights.<name>` for every parameter
  /// and buffer.
  std::string output;
  std::string schedule = "sequential";
  /// Layers of each stage. Empty: one stage.
  std::vector<int> stages = {};
  /// The schedule's options; its shape and costs are filled in. Where a period in milliseconds is
  /// given, layers are measured; otherwise all stages cost the same.
  ScheduleRequest request = {};
  OptimizerOptions optimizer = {};
  /// "mse" and "l1": the mean over the elements; "cross_entropy": of logits [1, C] and a class.
  std::string loss = "mse";
  /// Threads inside an operation.
  int threads_per_stage = 1;
  /// Of what layers draw at random.
  std::uint64_t seed = 0;
  /// Notes when each operation ran. Null: nobody does. Outlives the replay.
  RunRecorder* recorder = nullptr;
};

struct ReplaySummary {
  std::int64_t samples = 0;
  int stages = 0;
  /// Mean loss of the first and the last tenth of the samples, at least one.
  double first_loss = 0;
  double last_loss = 0;
  /// Updates of all stages together.
  std::int64_t updates = 0;
  /// What ran.
  Phases phases = {};
};

/// Learns from every sample once, in order, each scored before it is learned from, and writes the
/// output. The same files and options give the same bits, unless a period is given. Fails with
/// INVALID_ARGUMENT or NOT_FOUND, saying what to do, before anything runs; later with the cause.
[[nodiscard]] absl::StatusOr<ReplaySummary> Replay(const ReplayOptions& options);

}  // namespace millrace::pipeline
