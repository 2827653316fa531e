#include "pipeline/offline/replay.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "base/atomic_file.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/target_loss.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/offline/replay_ranks.h"
#include "pipeline/offline/replay_samples.h"
#include "pipeline/plan/plan_part.h"
#include "pipeline/planner/partition.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/tensor_files/tensor_file.h"

namespace millrace::pipeline {
namespace {

absl::StatusOr<Cuts> CutsOf(const std::vector<int>& stages, int layers) {
  if (stages.empty()) return Cuts{};
  return CutsInto(stages, layers);
}

// One replay, from loaded files to the file of results.
class Replaying {
 public:
  Replaying(const ReplayOptions& options, TorchScriptChain network, ReplaySamples samples,
            Cuts cuts, TargetLoss loss)
      : options_(options),
        network_(std::move(network)),
        samples_(std::move(samples)),
        cuts_(std::move(cuts)),
        loss_(loss),
        outputs_(samples_.count()),
        losses_(at::empty({samples_.count()}, at::kFloat)) {}

  // Runs one sample through the network, to find mismatches before any learning.
  absl::Status Try() const {
    const at::Tensor input = samples_.input(0);
    return TryStages(First(input), options_.schedule,
                     [this](const at::Tensor& output, const std::string& what) {
                       return loss_.CheckFits(output, samples_.targets, what);
                     });
  }

  absl::StatusOr<Phases> Plans() const {
    const at::Tensor input = samples_.input(0);
    return PlanStages(
        First(input), options_.schedule, options_.request,
        [this](const at::Tensor& output) { return loss_(output, samples_.target(0)); });
  }

  // Joins the other ranks, if there are any.
  absl::Status Join(const Phases& phases) {
    if (options_.rank_of_stage.empty()) return absl::OkStatus();
    task_ = TaskFor(phases);
    for (const Phase& phase : phases) {
      MILLRACE_RETURN_IF_ERROR(CheckRanks(phase.plan, task_.rank_of_stage));
    }
    const int size = task_.rank_of_stage.front() + 1;
    if (size == 1) return absl::OkStatus();
    MILLRACE_ASSIGN_OR_RETURN(task_.network_file, ReadTorchScript(options_.model));
    MILLRACE_ASSIGN_OR_RETURN(group_, options_.join_ranks({.size = size}));
    return SendReplay(*group_, task_, samples_.targets);
  }

  absl::StatusOr<ReplaySummary> Run(const Phases& phases) {
    MILLRACE_ASSIGN_OR_RETURN(Phases own,
                              group_ ? PhasesOfRank(task_, 0) : absl::StatusOr<Phases>(phases));
    StagedNetwork::Options network = NetworkOptions(own.front().plan);
    MILLRACE_ASSIGN_OR_RETURN(const auto run,
                              NetworkRun::Start({.network = std::move(network),
                                                 .phases = std::move(own),
                                                 .threads_per_stage = options_.threads_per_stage,
                                                 .recorder = options_.recorder}));
    for (std::int64_t i = 0; i < samples_.count(); ++i) {
      MILLRACE_RETURN_IF_ERROR(run->Admit([&] { return samples_.input(i); }).status());
    }
    MILLRACE_RETURN_IF_ERROR(run->Drain());
    ReplaySummary summary{
        .samples = samples_.count(), .stages = phases.front().plan.stage_count(), .phases = phases};
    const std::int64_t tenth = std::max<std::int64_t>(1, samples_.count() / 10);
    summary.first_loss = losses_.narrow(0, 0, tenth).mean().item<double>();
    summary.last_loss = losses_.narrow(0, samples_.count() - tenth, tenth).mean().item<double>();
    for (const std::int64_t updates : run->network().updates()) summary.updates += updates;
    return summary;
  }

  // The other ranks hear why.
  void GiveUp(const absl::Status& cause) const {
    if (group_) group_->wires().Abort(cause);
  }

  absl::Status Write() const {
    NamedTensors results = {{"outputs", at::cat(outputs_)},
                            {"samples", at::arange(samples_.count(), at::kLong)},
                            {"losses", losses_}};
    for (const NamedTensors* named : {&network_.parameters, &network_.buffers}) {
      for (const auto& [name, tensor] : *named) results.emplace_back("weights." + name, tensor);
    }
    return WriteTensors(options_.output, results);
  }

 private:
  [[nodiscard]] FirstInput First(const at::Tensor& input) const {
    return {.chain = network_.chain, .cuts = cuts_, .input = input, .seed = options_.seed};
  }

  [[nodiscard]] RankTask TaskFor(const Phases& phases) const {
    return {.phases = phases,
            .rank_of_stage = options_.rank_of_stage,
            .cuts = cuts_,
            .optimizer = options_.optimizer,
            .seed = options_.seed,
            .threads_per_stage = options_.threads_per_stage,
            .local_loss = options_.schedule == "local" ? options_.loss : ""};
  }

  [[nodiscard]] StagedNetwork::Options NetworkOptions(const Plan& plan) {
    const auto objective = [this](const StageOutput& output) {
      return loss_(output.output, samples_.target(output.sample));
    };
    StagedNetwork::Options network = {
        .chain = network_.chain,
        .cuts = cuts_,
        .plan = plan,
        .loss = std::make_unique<FunctionLoss>(
            objective,
            [this](const StageOutput& output, const LossValue& value) { Record(output, value); }),
        .local_loss = std::make_unique<FunctionLoss>(objective),
        .optimizer = options_.optimizer,
        .stage_rates = {},
        .seed = options_.seed};
    if (group_) {
      network.ranks.emplace(RankWires{.wires = group_->wires(),
                                      .rank_of_stage = task_.rank_of_stage,
                                      .own_rank = 0,
                                      .epoch = group_->epoch()});
    }
    return network;
  }

  // On the last stage's thread. Each sample has its own element.
  void Record(const StageOutput& output, const LossValue& value) {
    outputs_[output.sample] = output.output.detach();
    losses_.data_ptr<float>()[output.sample] = value.objective.item<float>();
  }

  const ReplayOptions& options_;
  const TorchScriptChain network_;
  const ReplaySamples samples_;
  const Cuts cuts_;
  const TargetLoss loss_;
  std::vector<at::Tensor> outputs_;
  at::Tensor losses_;
  RankTask task_;                     // With several ranks.
  std::unique_ptr<RankGroup> group_;  // Null: one rank.
};

}  // namespace

absl::StatusOr<ReplaySummary> Replay(const ReplayOptions& options) {
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(const TargetLoss loss, TargetLoss::Named(options.loss));
  if (options.threads_per_stage < 1) {
    return absl::InvalidArgumentError("a stage needs at least one thread");
  }
  MILLRACE_ASSIGN_OR_RETURN(TorchScriptChain network, LoadTorchScriptChain(options.model));
  MILLRACE_ASSIGN_OR_RETURN(ReplaySamples samples, ReadSamples(options.samples));
  MILLRACE_ASSIGN_OR_RETURN(Cuts cuts,
                            CutsOf(options.stages, static_cast<int>(network.chain.layers.size())));
  MILLRACE_RETURN_IF_ERROR(CheckWritable(options.output));
  at::set_num_threads(options.threads_per_stage);
  Replaying replaying(options, std::move(network), std::move(samples), std::move(cuts), loss);
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<ReplaySummary> {
        MILLRACE_RETURN_IF_ERROR(replaying.Try());
        MILLRACE_ASSIGN_OR_RETURN(const Phases phases, replaying.Plans());
        MILLRACE_RETURN_IF_ERROR(replaying.Join(phases));
        absl::StatusOr<ReplaySummary> summary = replaying.Run(phases);
        if (!summary.ok()) replaying.GiveUp(summary.status());
        MILLRACE_RETURN_IF_ERROR(summary.status());
        MILLRACE_RETURN_IF_ERROR(replaying.Write());
        return summary;
      },
      InternalCause);
}

}  // namespace millrace::pipeline
