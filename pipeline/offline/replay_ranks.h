// A replay over several processes (plan_part.h). Rank 0 replays; the others run its other stages.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// Sends `task` to all other ranks, and for RankTask::local_loss also the `targets` of all samples.
/// REQUIRES: RankTask::network_file.
[[nodiscard]] absl::Status SendReplay(RankGroup& group, const RankTask& task,
                                      const at::Tensor& targets);

/// Runs the stages of a rank other than 0 until the replay ends. `task`: as ReceiveTask(), without
/// RankTask::flow and RankTask::labels. Fails with the first failure of this rank, or with
/// UNAVAILABLE if another rank is lost. For one thread; starts others.
[[nodiscard]] absl::Status FollowReplay(RankGroup& group, RankTask task);

}  // namespace millrace::pipeline
