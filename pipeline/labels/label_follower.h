// Runs stages of a network of labels that another process leads (staged_label_learner.h).
#pragma once

#include "absl/status/status.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// Runs the stages of a rank other than 0 until the leader's stream ends. `task`: as ReceiveTask(),
/// with RankTask::labels. Fails with the first failure of this rank, or with UNAVAILABLE if another
/// rank is lost. For one thread; starts others.
[[nodiscard]] absl::Status FollowLabels(RankGroup& group, RankTask task);

}  // namespace millrace::pipeline
