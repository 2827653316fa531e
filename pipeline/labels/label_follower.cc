#include "pipeline/labels/label_follower.h"

#include <utility>

#include "absl/status/statusor.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/stages/follow_leader.h"

namespace millrace::pipeline {
namespace {

// Its weights come from the leader.
absl::StatusOr<LayerChain> ChainOf(RankTask& task) {
  if (!task.network_file.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(
        TorchScriptChain file,
        DecodeTorchScriptChain(std::move(task.network_file), "the leader's network"));
    return std::move(file.chain);
  }
  const LabelRankNetwork& network = *task.labels;
  MILLRACE_ASSIGN_OR_RETURN(
      NetworkWithState built,
      OpenLabelNetwork({.seed = task.seed}, {.network = network.name,
                                             .layers = network.layers,
                                             .width = network.width,
                                             .sample_shape = network.sample_shape,
                                             .outputs = network.outputs}));
  return std::move(built.chain);
}

absl::Status Follow(RankGroup& group, RankTask task) {
  if (!task.labels) return absl::InvalidArgumentError("the leader's task has no network of labels");
  MILLRACE_ASSIGN_OR_RETURN(const LayerChain chain, ChainOf(task));
  return FollowTask(group, task, {.chain = chain});
}

}  // namespace

absl::Status FollowLabels(RankGroup& group, RankTask task) {
  return ExceptionToStatus([&] { return Follow(group, std::move(task)); }, InternalCause);
}

}  // namespace millrace::pipeline
