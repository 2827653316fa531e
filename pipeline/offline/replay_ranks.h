// A replay over several processes (plan_part.h). Rank 0 replays; the others run its other stages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/ranks/rank_group.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/stages/stage_port.h"

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
[[nodiscard]] absl::Status SendTask(RankGroup& group, const ReplayTask& task);

/// Runs the stages of a rank other than 0 until the replay ends. Fails with the first failure of
/// this rank, or with UNAVAILABLE if another rank is lost. For one thread; starts others.
[[nodiscard]] absl::Status FollowReplay(RankGroup& group);

/// The plans of one rank. Fails as PartOf().
[[nodiscard]] absl::StatusOr<Phases> PhasesOfRank(const RankTask& task, int rank);

}  // namespace millrace::pipeline
