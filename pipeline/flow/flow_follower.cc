#include "pipeline/flow/flow_follower.h"

#include <memory>
#include <utility>

#include <ATen/Parallel.h>

#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/stages/follow_leader.h"
#include "pipeline/stages/network_run.h"

namespace millrace::pipeline {
namespace {

// Its weights come from the leader.
LayerChain ChainOf(const FlowRankNetwork& network, std::uint64_t seed) {
  FlowTaskOptions task{.network = network.name, .next_frame = network.next_frame};
  task.loss.occlusion = network.occlusion;
  LayerChain chain =
      MakeNamedFlowNetwork({.name = network.name, .seed = seed, .pairs = PairsFor(task)});
  chain.precision = network.precision;
  return chain;
}

absl::Status Follow(RankGroup& group, const RankTask& task) {
  if (!task.flow) return absl::InvalidArgumentError("the leader's task has no flow network");
  const FlowRankNetwork& network = *task.flow;
  MILLRACE_RETURN_IF_ERROR(FlowNetworkInputOf(network.name).status());
  SetPriorThreads({});
  at::set_num_threads(task.threads_per_stage);
  const LayerChain chain = ChainOf(network, task.seed);
  MILLRACE_ASSIGN_OR_RETURN(Phases phases, PhasesOfRank(task, group.rank()));
  const RankWires ranks{.wires = group.wires(),
                        .rank_of_stage = task.rank_of_stage,
                        .own_rank = group.rank(),
                        .epoch = group.epoch(),
                        .copy_every = task.copy_every};
  StagedNetwork::Options options{
      .chain = chain,
      .cuts = task.cuts,
      .plan = phases.front().plan,
      .first_sample = phases.front().first_sample,
      .read = [channels = network.channels](const at::Tensor& b) { return PlanesOf(b, channels); },
      .loss = nullptr,
      .optimizer = task.optimizer,
      .stage_rates = task.stage_rates,
      .seed = task.seed,
      .ranks = ranks};
  MILLRACE_ASSIGN_OR_RETURN(const auto run,
                            NetworkRun::Start({.network = std::move(options),
                                               .phases = std::move(phases),
                                               .threads_per_stage = task.threads_per_stage}));
  return FollowLeader(*run, ranks);
}

}  // namespace

absl::Status FollowFlow(RankGroup& group, const RankTask& task) {
  return ExceptionToStatus([&] { return Follow(group, task); }, InternalCause);
}

}  // namespace millrace::pipeline
