// A rank that follows: it admits what the leader admits, until the stream ends.
#pragma once

#include "absl/status/status.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/stage_port.h"

namespace millrace::pipeline {

/// Admits each sample that the leader announces, with its factor on the learning rates. Pauses with
/// the leader, and drains at the end of its stream. Fails if the run fails or the leader is lost.
/// `run` has a part of the leader's plans, and `ranks`.
[[nodiscard]] absl::Status FollowLeader(NetworkRun& run, const RankWires& ranks);

}  // namespace millrace::pipeline
