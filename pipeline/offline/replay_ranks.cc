#include "pipeline/offline/replay_ranks.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
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

absl::StatusOr<std::unique_ptr<Loss>> ReceiveLocalLoss(RankGroup& group, const RankTask& task) {
  if (task.local_loss.empty()) return nullptr;
  MILLRACE_ASSIGN_OR_RETURN(const TargetLoss loss, TargetLoss::Named(task.local_loss));
  MILLRACE_ASSIGN_OR_RETURN(const std::string bytes,
                            ReceiveBytes(group.wires(), 0, kTaskTag, kMaxTorchScriptBytes));
  MILLRACE_ASSIGN_OR_RETURN(const SafeTensors tensors, DecodeSafeTensors(bytes));
  return std::make_unique<FunctionLoss>(
      [loss, targets = FindTensor(tensors.tensors, kTargets)](const StageOutput& output) {
        return loss(output.output, targets.narrow(0, output.sample, 1));
      });
}

absl::Status Follow(RankGroup& group, RankTask task) {
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<Loss> local_loss, ReceiveLocalLoss(group, task));
  MILLRACE_ASSIGN_OR_RETURN(
      const TorchScriptChain network,
      DecodeTorchScriptChain(std::move(task.network_file), "the leader's network"));
  return FollowTask(group, task, {.chain = network.chain, .local_loss = std::move(local_loss)});
}

}  // namespace

absl::Status SendReplay(RankGroup& group, const RankTask& task, const at::Tensor& targets) {
  MILLRACE_RETURN_IF_ERROR(SendTask(group, task));
  if (task.local_loss.empty()) return absl::OkStatus();
  const std::string bytes = EncodeSafeTensors({.tensors = {{kTargets, targets}}, .metadata = {}});
  for (int rank = 1; rank < group.size(); ++rank) {
    MILLRACE_RETURN_IF_ERROR(SendBytes(group.wires(), rank, kTaskTag, bytes));
  }
  return absl::OkStatus();
}

absl::Status FollowReplay(RankGroup& group, RankTask task) {
  return ExceptionToStatus([&] { return Follow(group, std::move(task)); }, InternalCause);
}

}  // namespace millrace::pipeline
