#include "pipeline/stages/follow_leader.h"

#include <utility>

#include <ATen/Parallel.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/stages/admissions.h"

namespace millrace::pipeline {
namespace {

// Undefined if no stage of this rank reads it.
at::Tensor InputOf(const TensorMessage& admitted) {
  return admitted.tensors.empty() ? at::Tensor() : admitted.tensors[0];
}

absl::Status Follow(NetworkRun& run, const RankWires& ranks) {
  AdmissionReceiver admissions(ranks);
  while (true) {
    // Ends a phase before the next sample, as the leader does: that sample comes only afterwards.
    MILLRACE_RETURN_IF_ERROR(run.AwaitRoom());
    MILLRACE_ASSIGN_OR_RETURN(const TensorMessage next, admissions.Next());
    if (next.sample != run.next_sample()) {
      return absl::DataLossError(absl::StrCat("the leader is at sample ", next.sample,
                                              "; the next one here is ", run.next_sample()));
    }
    switch (next.kind) {
      case MessageKind::kEnd:
        return run.Drain();
      case MessageKind::kPause:
        MILLRACE_RETURN_IF_ERROR(run.Pause([](StagedNetwork& /*network*/) {}));
        break;
      default:
        run.network().ScaleLearningRates(next.rate_scale);
        MILLRACE_RETURN_IF_ERROR(run.Admit([&] { return InputOf(next); }).status());
    }
  }
}

}  // namespace

absl::Status FollowTask(RankGroup& group, const RankTask& task, FollowedNetwork network) {
  at::set_num_threads(task.threads_per_stage);
  MILLRACE_ASSIGN_OR_RETURN(Phases phases, PhasesOfRank(task, group.rank()));
  const RankWires ranks{.wires = group.wires(),
                        .rank_of_stage = task.rank_of_stage,
                        .own_rank = group.rank(),
                        .epoch = group.epoch(),
                        .copy_every = task.copy_every};
  StagedNetwork::Options options{.chain = network.chain,
                                 .cuts = task.cuts,
                                 .plan = phases.front().plan,
                                 .first_sample = phases.front().first_sample,
                                 .read = std::move(network.read),
                                 .loss = nullptr,
                                 .local_loss = std::move(network.local_loss),
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

absl::Status FollowLeader(NetworkRun& run, const RankWires& ranks) {
  absl::Status end = ExceptionToStatus([&] { return Follow(run, ranks); }, InternalCause);
  if (!end.ok()) run.network().AbortTransfers(end);
  return end;
}

}  // namespace millrace::pipeline
