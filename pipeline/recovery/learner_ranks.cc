#include "pipeline/recovery/learner_ranks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

absl::Status CheckRankOptions(const LearnerOptions& options) {
  if (options.rank_of_stage.empty()) return absl::OkStatus();
  const auto refused = [](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("a network over several hosts cannot have ", why));
  };
  if (options.schedule == "auto" || options.schedule == "local") {
    return refused(absl::StrCat("the schedule ", options.schedule,
                                ": name another one, such as one_f_one_b_star"));
  }
  const bool on_cpus =
      std::ranges::all_of(options.devices, [](const std::string& name) { return name == "cpu"; });
  return on_cpus ? absl::OkStatus() : refused("stages on GPUs: leave out the devices");
}

absl::StatusOr<std::unique_ptr<NetworkRun>> LearnerRanks::Start(Options options) {
  recovery_ = options.recovery;
  plan_ = options.plan;
  if (HasOthers()) MILLRACE_RETURN_IF_ERROR(TakeOwnPart(options));
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<NetworkRun> run,
                            NetworkRun::Start(std::move(options.run)));
  run_ = run.get();
  if (HasOthers()) {
    gathered_ =
        std::make_unique<GatheredRanks>(join_, options_.rank_of_stage.front() + 1, *options_.clock);
  }
  return run;
}

// The other parts go to the other ranks, as a task.
absl::Status LearnerRanks::TakeOwnPart(Options& options) {
  task_ = std::move(options.network);
  if (!options.file.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(task_.network_file, ReadTorchScript(options.file));
  }
  StagedNetwork::Options& network = options.run.network;
  task_.phases = std::move(options.run.phases);
  task_.rank_of_stage = options_.rank_of_stage;
  task_.cuts = network.cuts;
  task_.optimizer = options_.optimizer;
  task_.stage_rates = options_.stage_rates;
  task_.seed = options_.seed;
  task_.threads_per_stage = options_.threads_per_stage;
  task_.copy_every = options_.copy_every;
  MILLRACE_ASSIGN_OR_RETURN(options.run.phases, PhasesOfRank(task_, /*rank=*/0));
  if (!join_) {
    return absl::FailedPreconditionError(
        "schedule.stages_on needs other hosts, and this server leads none: add the section `ranks` "
        "to its configuration");
  }
  network.plan = options.run.phases.front().plan;
  network.ranks.emplace(RanksOver(absent_, /*epoch=*/0));
  options.run.suspended = true;
  return absl::OkStatus();
}

RankWires LearnerRanks::RanksOver(Wires& wires, std::int64_t epoch) const {
  return {.wires = wires, .rank_of_stage = options_.rank_of_stage, .own_rank = 0, .epoch = epoch};
}

absl::Status LearnerRanks::ResumeIfComplete() {
  if (missing().ok()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(RankGroup* const group, gathered_->Next());
  if (group == nullptr) return missing();
  first_of_group_ = run_->next_sample();
  return SuspendIfLost(ResumeWith(*group));
}

absl::Status LearnerRanks::ResumeWith(RankGroup& group) {
  task_.phases = PhasesFrom(std::move(task_.phases), run_->next_sample());
  MILLRACE_RETURN_IF_ERROR(SendTask(group, task_));
  return run_->Resume(RanksOver(group.wires(), group.epoch()));
}

bool LearnerRanks::IsOneLost() const {
  const RankGroup* const group = gathered_ != nullptr ? gathered_->group() : nullptr;
  return group != nullptr && !group->lost().ok();
}

absl::Status LearnerRanks::Suspend() {
  run_->Suspend();
  recovery_->RestoreGood();  // At once: Predict() answers meanwhile.
  plan_->Forget();
  MILLRACE_RETURN_IF_ERROR(gathered_->Replace(/*served=*/newest_prediction_ >= first_of_group_));
  return missing();
}

absl::Status LearnerRanks::Drain() {
  absl::Status drained = missing().ok() ? SuspendIfLost(run_->Drain()) : absl::OkStatus();
  const bool finished = drained.ok() && missing().ok();
  if (!missing().ok()) {
    gathered_->StopGathering();
    drained = absl::OkStatus();
  }
  if (recovery_ != nullptr) drained.Update(recovery_->Finish(finished));
  return drained;
}

absl::Status LearnerRanks::SetOptimizer(const OptimizerOptions& optimizer) {
  if (HasOthers()) {
    return absl::FailedPreconditionError(
        "the optimizer of a network over several hosts changes with a restart only");
  }
  return run_->SetOptimizer(optimizer);
}

void LearnerRanks::Describe(LearnerDescription& description) const {
  if (options_.rank_of_stage.empty()) return;
  for (std::size_t i = 0; i < description.stages.size(); ++i) {
    description.stages[i].rank = options_.rank_of_stage[i];
  }
}

}  // namespace millrace::pipeline
