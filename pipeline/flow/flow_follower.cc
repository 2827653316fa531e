#include "pipeline/flow/flow_follower.h"

#include <utility>

#include "absl/status/statusor.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/stages/follow_leader.h"

namespace millrace::pipeline {
namespace {

// Its weights come from the leader.
absl::StatusOr<LayerChain> ChainOf(RankTask& task) {
  const FlowRankNetwork& network = *task.flow;
  FlowTaskOptions learns{.network = network.name, .next_frame = network.next_frame};
  learns.loss.occlusion = network.occlusion;
  const NamedFlowNetworkOptions options{
      .name = network.name, .seed = task.seed, .pairs = PairsFor(learns)};
  LayerChain chain;
  if (task.network_file.empty()) {
    MILLRACE_RETURN_IF_ERROR(FlowNetworkInputOf(network.name).status());
    chain = MakeNamedFlowNetwork(options);
  } else {
    MILLRACE_ASSIGN_OR_RETURN(chain, DecodeFlowNetwork(std::move(task.network_file), options));
  }
  chain.precision = network.precision;
  return chain;
}

absl::Status Follow(RankGroup& group, RankTask task) {
  if (!task.flow) return absl::InvalidArgumentError("the leader's task has no flow network");
  SetPriorThreads({});
  MILLRACE_ASSIGN_OR_RETURN(const LayerChain chain, ChainOf(task));
  return FollowTask(
      group, task,
      {.chain = chain, .read = [channels = task.flow->channels](const at::Tensor& bytes) {
         return PlanesOf(bytes, channels);
       }});
}

}  // namespace

absl::Status FollowFlow(RankGroup& group, RankTask task) {
  return ExceptionToStatus([&] { return Follow(group, std::move(task)); }, InternalCause);
}

}  // namespace millrace::pipeline
