// A rank that follows: it admits what the leader admits, until the stream ends.
#pragma once

#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "pipeline/nn/layer.h"
#include "pipeline/ranks/rank_work.h"
#include "pipeline/stages/loss.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/stage_port.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

struct RankTask;

/// What a follower's task does not say about its network.
struct FollowedNetwork {
  /// Outlives the run. Its weights come from the leader.
  const LayerChain& chain;
  /// As in StagedNetwork::Options.
  std::function<at::Tensor(const at::Tensor&)> read = {};
  std::unique_ptr<Loss> local_loss = nullptr;
};

/// Runs the stages of `group`'s rank until the leader's stream ends. Sets the calling thread's
/// LibTorch threads. Fails as FollowLeader().
[[nodiscard]] absl::Status FollowTask(RankGroup& group, const RankTask& task,
                                      FollowedNetwork network);

/// Shows to the leader what this rank has done.
using ShowWork = std::function<void(RankWork work)>;

/// Admits each sample that the leader announces, with its factor on the learning rates. Pauses with
/// the leader, takes its other plans and optimizers, and drains at the end of its stream. Shows
/// what the run has done a few times a second, if `show` is not empty. Fails if the
/// run fails or the leader is lost. `run` has a part of the leader's plans, and `ranks`.
[[nodiscard]] absl::Status FollowLeader(NetworkRun& run, const RankWires& ranks,
                                        const ShowWork& show = {});

}  // namespace millrace::pipeline
