#include "pipeline/flow/flow_follower.h"

#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/stages/follow_leader.h"

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
  const LayerChain chain = ChainOf(network, task.seed);
  return FollowTask(
      group, task, {.chain = chain, .read = [channels = network.channels](const at::Tensor& bytes) {
                      return PlanesOf(bytes, channels);
                    }});
}

}  // namespace

absl::Status FollowFlow(RankGroup& group, const RankTask& task) {
  return ExceptionToStatus([&] { return Follow(group, task); }, InternalCause);
}

}  // namespace millrace::pipeline
