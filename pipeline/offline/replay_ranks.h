// A replay over several processes (plan_part.h). Rank 0 replays; the others run its other stages.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// What the other ranks of a replay get.
struct ReplayTask {
  RankTask learning;
  /// The bytes of the network's file.
  std::string network;
  /// For RankTask::local_loss: of all samples. Otherwise undefined.
  at::Tensor targets = {};
};

/// Sends `task` to all other ranks.
[[nodiscard]] absl::Status SendReplay(RankGroup& group, const ReplayTask& task);

/// Runs the stages of a rank other than 0 until the replay ends. `task`: as ReceiveTask(), without
/// RankTask::flow. Fails with the first failure of this rank, or with UNAVAILABLE if another rank
/// is lost. For one thread; starts others.
[[nodiscard]] absl::Status FollowReplay(RankGroup& group, const RankTask& task);

}  // namespace millrace::pipeline
