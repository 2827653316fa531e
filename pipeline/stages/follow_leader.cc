#include "pipeline/stages/follow_leader.h"

#include <chrono>
#include <string>
#include <utility>

#include <ATen/Parallel.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/ranks/rank_work.h"
#include "pipeline/stages/admissions.h"
#include "pipeline/wires/link_probe.h"

namespace millrace::pipeline {
namespace {

// Undefined if no stage of this rank reads it.
at::Tensor InputOf(const TensorMessage& admitted) {
  return admitted.tensors.empty() ? at::Tensor() : admitted.tensors[0];
}

// The leader goes on with another plan or optimizer.
absl::Status TakeTask(NetworkRun& run, const RankWires& ranks) {
  MILLRACE_ASSIGN_OR_RETURN(const RankTask task, ReceiveTask(ranks.wires));
  MILLRACE_ASSIGN_OR_RETURN(Phases phases, PhasesOfRank(task, ranks.own_rank));
  return run.Follow(std::move(phases.front().plan), task.cuts, task.optimizer);
}

// Shows what this rank has done, now and then.
class WorkShower {
 public:
  explicit WorkShower(const ShowWork& show) : show_(show) {}

  void ShowIfDue(const StagedNetwork& network) {
    constexpr std::chrono::milliseconds kBetween{250};
    const nanoseconds now = MonotonicClock().Now();
    if (!show_ || now - shown_at_ < kBetween) return;
    shown_at_ = now;
    show_(network.rank_work());
  }

 private:
  const ShowWork& show_;
  nanoseconds shown_at_{0};
};

absl::Status Follow(NetworkRun& run, const RankWires& ranks, const ShowWork& show) {
  AdmissionReceiver admissions(ranks);
  WorkShower shower(show);
  while (true) {
    shower.ShowIfDue(run.network());
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
      case MessageKind::kSwitch:
        MILLRACE_RETURN_IF_ERROR(TakeTask(run, ranks));
        break;
      default:
        run.network().ScaleLearningRates(next.rate_scale);
        MILLRACE_RETURN_IF_ERROR(run.Admit([&] { return InputOf(next); }).status());
    }
  }
}

// The leader and each rank answer the rank above, and then measure the link to the rank below. Only
// one link is measured at a time.
absl::StatusOr<nanoseconds> MeasureLinks(RankGroup& group) {
  const int rank = group.rank();
  if (rank + 1 < group.size()) {
    MILLRACE_RETURN_IF_ERROR(AnswerProbe(group.wires(), rank + 1, kProbeTag));
  }
  return ProbeLink(group.wires(), rank - 1, kProbeTag);
}

}  // namespace

absl::Status FollowTask(RankGroup& group, const RankTask& task, FollowedNetwork network) {
  at::set_num_threads(task.threads_per_stage);
  MILLRACE_ASSIGN_OR_RETURN(Phases phases, PhasesOfRank(task, group.rank()));
  nanoseconds megabyte_down{0};
  if (task.measures_links) {
    MILLRACE_ASSIGN_OR_RETURN(megabyte_down, MeasureLinks(group));
  }
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
  return FollowLeader(*run, ranks, [&](RankWork work) {
    work.megabyte_down = megabyte_down;
    group.Show(TextOf(work));
  });
}

absl::Status FollowLeader(NetworkRun& run, const RankWires& ranks, const ShowWork& show) {
  absl::Status end = ExceptionToStatus([&] { return Follow(run, ranks, show); }, InternalCause);
  if (!end.ok()) run.network().AbortTransfers(end);
  return end;
}

}  // namespace millrace::pipeline
