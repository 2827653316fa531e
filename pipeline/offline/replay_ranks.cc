#include "pipeline/offline/replay_ranks.h"

#include <memory>
#include <utility>

#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/target_loss.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/stages/follow_leader.h"
#include "pipeline/stages/loss.h"
#include "pipeline/tensor_files/safetensors.h"
#include "pipeline/wires/byte_message.h"

namespace millrace::pipeline {
namespace {

constexpr char kTargets[] = "targets";

std::string EncodeTargets(const at::Tensor& targets) {
  if (!targets.defined()) return {};
  return EncodeSafeTensors({.tensors = {{kTargets, targets}}, .metadata = {}});
}

absl::StatusOr<ReplayTask> ReceiveRest(RankGroup& group, const RankTask& learning) {
  ReplayTask task{.learning = learning, .network = {}};
  MILLRACE_ASSIGN_OR_RETURN(task.network,
                            ReceiveBytes(group.wires(), 0, kTaskTag, kMaxTorchScriptBytes));
  MILLRACE_ASSIGN_OR_RETURN(const std::string targets,
                            ReceiveBytes(group.wires(), 0, kTaskTag, kMaxTorchScriptBytes));
  if (targets.empty()) return task;
  MILLRACE_ASSIGN_OR_RETURN(const SafeTensors tensors, DecodeSafeTensors(targets));
  task.targets = FindTensor(tensors.tensors, kTargets);
  return task;
}

absl::StatusOr<std::unique_ptr<Loss>> LocalLossOf(const ReplayTask& task) {
  if (task.learning.local_loss.empty()) return nullptr;
  MILLRACE_ASSIGN_OR_RETURN(const TargetLoss loss, TargetLoss::Named(task.learning.local_loss));
  return std::make_unique<FunctionLoss>([loss, targets = task.targets](const StageOutput& output) {
    return loss(output.output, targets.narrow(0, output.sample, 1));
  });
}

absl::Status Follow(RankGroup& group, ReplayTask task) {
  MILLRACE_ASSIGN_OR_RETURN(
      const TorchScriptChain network,
      DecodeTorchScriptChain(std::move(task.network), "the leader's network"));
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Loss> local_loss, LocalLossOf(task));
  return FollowTask(group, task.learning,
                    {.chain = network.chain, .local_loss = std::move(local_loss)});
}

}  // namespace

absl::Status SendReplay(RankGroup& group, const ReplayTask& task) {
  MILLRACE_RETURN_IF_ERROR(SendTask(group, task.learning));
  const std::string targets = EncodeTargets(task.targets);
  for (int rank = 1; rank < group.size(); ++rank) {
    MILLRACE_RETURN_IF_ERROR(SendBytes(group.wires(), rank, kTaskTag, task.network));
    MILLRACE_RETURN_IF_ERROR(SendBytes(group.wires(), rank, kTaskTag, targets));
  }
  return absl::OkStatus();
}

absl::Status FollowReplay(RankGroup& group, const RankTask& task) {
  return ExceptionToStatus(
      [&]() -> absl::Status {
        MILLRACE_ASSIGN_OR_RETURN(ReplayTask whole, ReceiveRest(group, task));
        return Follow(group, std::move(whole));
      },
      InternalCause);
}

}  // namespace millrace::pipeline
