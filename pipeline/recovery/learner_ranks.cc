#include "pipeline/recovery/learner_ranks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/wires/link_probe.h"

namespace millrace::pipeline {
namespace {

std::vector<LinkFigures> EachLink(int ranks) {
  std::vector<LinkFigures> links;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) links.push_back({.from = from, .to = to});
    }
  }
  return links;
}

// The time of the bytes that one rank has sent to another one. Each rank has measured the link to
// the rank below. Of several links, the slowest counts.
nanoseconds TimeOnLink(const std::vector<RankWork>& ranks, std::size_t from, std::size_t to) {
  nanoseconds megabyte{0};
  for (std::size_t rank = std::min(from, to) + 1; rank <= std::max(from, to); ++rank) {
    megabyte = std::max(megabyte, ranks[rank].megabyte_down);
  }
  const double megabytes = static_cast<double>(ranks[from].sent[to]) / 1e6;
  return nanoseconds(std::llround(megabytes * static_cast<double>(megabyte.count())));
}

}  // namespace

absl::Status CheckRankOptions(const LearnerOptions& options) {
  if (options.rank_of_stage.empty()) return absl::OkStatus();
  const auto refused = [](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("a network over several hosts cannot have ", why));
  };
  if (options.schedule == "local") {
    return refused("the schedule local: name another one, such as one_f_one_b_star");
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
    gathered_ = std::make_unique<GatheredRanks>(join_, size(), *options_.clock);
  }
  return run;
}

// The other parts go to the other ranks, as a task.
absl::Status LearnerRanks::TakeOwnPart(Options& options) {
  task_ = std::move(options.network);
  if (!options.file.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(file_, ReadTorchScript(options.file));
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
  task_.measures_links = true;
  MILLRACE_ASSIGN_OR_RETURN(options.run.phases, PhasesOfRank(task_, /*rank=*/0));
  if (!join_) {
    return absl::FailedPreconditionError(
        "schedule.stages_on needs other hosts, and this server leads none: add the section `ranks` "
        "to its configuration");
  }
  network.plan = options.run.phases.front().plan;
  network.ranks.emplace(RanksOver(absent_, /*epoch=*/0, /*sent=*/nullptr));
  options.run.suspended = true;
  options.run.tell_ranks = [this](const NetworkChange& change) { return Tell(change); };
  options.run.on_switch = [this, also = std::move(options.run.on_switch)] {
    OnSwitch();
    if (also) also();
  };
  return absl::OkStatus();
}

RankWires LearnerRanks::RanksOver(Wires& wires, std::int64_t epoch,
                                  std::shared_ptr<SentToRanks> sent) const {
  return {.wires = wires,
          .rank_of_stage = options_.rank_of_stage,
          .own_rank = 0,
          .epoch = epoch,
          .sent = std::move(sent)};
}

absl::Status LearnerRanks::ResumeIfComplete() {
  if (missing().ok()) {
    if (HasOthers()) FollowCosts();
    return absl::OkStatus();
  }
  MILLRACE_ASSIGN_OR_RETURN(RankGroup* const group, gathered_->Next());
  if (group == nullptr) return missing();
  first_of_group_ = run_->next_sample();
  return SuspendIfLost(ResumeWith(*group));
}

absl::Status LearnerRanks::ResumeWith(RankGroup& group) {
  const auto sent = std::make_shared<SentToRanks>(size());
  {
    const MutexLock lock(work_mu_);
    sent_ = sent;
  }
  measured_ = {};
  knows_links_ = false;
  RankTask task = FromNow(task_);
  task.network_file = file_;
  MILLRACE_RETURN_IF_ERROR(SendTask(group, task));
  MILLRACE_RETURN_IF_ERROR(AnswerProbe(group.wires(), /*rank=*/1, kProbeTag));
  return run_->Resume(RanksOver(group.wires(), group.epoch(), sent));
}

RankTask LearnerRanks::FromNow(RankTask task) const {
  task.phases = PhasesFrom(std::move(task.phases), run_->next_sample());
  return task;
}

// The ranks have the network's file already.
absl::StatusOr<Plan> LearnerRanks::Tell(const NetworkChange& change) {
  RankTask next = task_;
  if (change.plan) {
    next.phases = {{.plan = *change.plan}};
    next.cuts = change.cuts;
  }
  next.optimizer = change.optimizer.value_or(next.optimizer);
  next_task_ = next;
  const RankTask sent = FromNow(std::move(next));
  MILLRACE_RETURN_IF_ERROR(SendTask(*gathered_->group(), sent));
  MILLRACE_ASSIGN_OR_RETURN(Phases own, PhasesOfRank(sent, /*rank=*/0));
  return std::move(own.front().plan);
}

void LearnerRanks::OnSwitch() {
  if (next_task_) task_ = *std::exchange(next_task_, std::nullopt);
  measured_ = {};
}

// Means over some seconds: the others' times are some hundred milliseconds old.
void LearnerRanks::FollowCosts() {
  constexpr std::chrono::seconds kSpan{10};
  constexpr std::int64_t kMinSamples = 16;
  if (!plan_->follows_hosts()) return;
  if (!knows_links_) FollowLinks();
  const nanoseconds now = options_.clock->Now();
  const std::int64_t samples = run_->next_sample() - measured_.next_sample;
  const bool is_first = measured_.worked.empty();
  if (!is_first && (now - measured_.time < kSpan || samples < kMinSamples)) return;
  const Measured before = std::exchange(
      measured_, {.time = now, .next_sample = run_->next_sample(), .worked = worked()});
  if (is_first) return;
  std::vector<double> forward_ms;
  for (std::size_t i = 0; i < before.worked.size(); ++i) {
    const nanoseconds took = measured_.worked[i].predicting - before.worked[i].predicting;
    forward_ms.push_back(std::chrono::duration<double, std::milli>(took).count() /
                         static_cast<double>(samples));
  }
  plan_->ReportForwards(forward_ms);
}

void LearnerRanks::FollowLinks() {
  std::vector<RankWork> ranks;
  {
    const MutexLock lock(work_mu_);
    ranks = WorkOfRanks();
  }
  std::vector<double> ms_per_byte;
  for (std::size_t stage = 1; stage < options_.rank_of_stage.size(); ++stage) {
    const int rank = options_.rank_of_stage[stage - 1];
    if (rank == options_.rank_of_stage[stage]) {
      ms_per_byte.push_back(0);
      continue;
    }
    if (ranks.empty() || ranks[rank].stages.empty()) return;  // Not yet known.
    ms_per_byte.push_back(
        std::chrono::duration<double, std::milli>(ranks[rank].megabyte_down).count() / 1e6);
  }
  plan_->FollowLinks(ms_per_byte);
  knows_links_ = true;
}

std::vector<RankWork> LearnerRanks::WorkOfRanks() const {
  std::vector<RankWork> works;
  if (sent_ == nullptr) return works;
  for (const std::string& news : gathered_->news()) {
    works.push_back(WorkOf(news).value_or(RankWork()));
  }
  if (!works.empty()) works[0].sent.assign(sent_->begin(), sent_->end());
  return works;
}

std::vector<StageTime> LearnerRanks::WorkOfOthers() const {
  std::vector<StageTime> sum = past_work_;
  sum.resize(options_.rank_of_stage.size());
  for (const RankWork& rank : WorkOfRanks()) {
    for (std::size_t i = 0; i < std::min(sum.size(), rank.stages.size()); ++i) {
      sum[i].predicting += rank.stages[i].predicting;
      sum[i].learning += rank.stages[i].learning;
    }
  }
  return sum;
}

std::vector<LinkFigures> LearnerRanks::Links() const {
  std::vector<LinkFigures> links = past_links_.empty() ? EachLink(size()) : past_links_;
  const std::vector<RankWork> ranks = WorkOfRanks();
  for (LinkFigures& link : links) {
    const auto from = static_cast<std::size_t>(link.from);
    const auto to = static_cast<std::size_t>(link.to);
    if (from >= ranks.size() || to >= ranks[from].sent.size()) continue;
    link.bytes += ranks[from].sent[to];
    link.busy += TimeOnLink(ranks, from, to);
  }
  return links;
}

void LearnerRanks::EndCounts() {
  const MutexLock lock(work_mu_);
  past_work_ = WorkOfOthers();
  past_links_ = Links();
  sent_ = nullptr;
}

std::optional<RankFigures> LearnerRanks::figures() const {
  if (gathered_ == nullptr) return std::nullopt;
  RankFigures figures = gathered_->figures();
  const MutexLock lock(work_mu_);
  figures.links = Links();
  return figures;
}

std::vector<StageTime> LearnerRanks::worked() const {
  std::vector<StageTime> worked = run_->network().worked();
  if (gathered_ == nullptr) return worked;
  const MutexLock lock(work_mu_);
  const std::vector<StageTime> others = WorkOfOthers();
  for (std::size_t i = 0; i < std::min(worked.size(), others.size()); ++i) {
    worked[i].predicting += others[i].predicting;
    worked[i].learning += others[i].learning;
  }
  return worked;
}

bool LearnerRanks::IsOneLost() const {
  const RankGroup* const group = gathered_ != nullptr ? gathered_->group() : nullptr;
  return group != nullptr && !group->lost().ok();
}

absl::Status LearnerRanks::Suspend() {
  run_->Suspend();
  next_task_.reset();
  EndCounts();
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

void LearnerRanks::Describe(LearnerDescription& description) const {
  if (options_.rank_of_stage.empty()) return;
  for (std::size_t i = 0; i < description.stages.size(); ++i) {
    description.stages[i].rank = options_.rank_of_stage[i];
  }
}

}  // namespace millrace::pipeline
