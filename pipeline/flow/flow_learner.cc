// The learner of optical flow. It cuts and plans the network, and the engine runs it. The learner
// plans again when the stages' times differ from the planned ones.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include <c10/core/StreamGuard.h>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/device/device_memory.h"
#include "pipeline/device/device_streams.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/flow/flow_inference.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_plan.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_stage_loss.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/rate_factor.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/plan/plan_part.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/stages/learner_plan.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/wires/absent_wires.h"
#include "pipeline/wires/gathered_ranks.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {
namespace {

class FlowLearner final : public Learner {
 public:
  static absl::StatusOr<std::unique_ptr<Learner>> Make(const LearnerOptions& options,
                                                       const FlowTaskOptions& task,
                                                       OnPrediction on_prediction,
                                                       const LearnerHooks& hooks) {
    MILLRACE_ASSIGN_OR_RETURN(DeviceChoice choice, ChooseDevices(options.devices));
    SetPriorThreads(choice.names);
    LearnerOptions placed = options;
    placed.devices = std::move(choice.names);
    const auto not_wanted = [&] { return absl::CancelledError("the learner is not wanted"); };
    MILLRACE_ASSIGN_OR_RETURN(PlannedFlow flow, PlanFlow(placed, task, hooks.stop));
    if (hooks.stop.stop_requested()) return not_wanted();
    std::unique_ptr<FlowLearner> learner(
        new FlowLearner(placed, task, std::move(on_prediction), hooks, std::move(flow.chain)));
    learner->where_ = std::move(choice.where);
    MILLRACE_ASSIGN_OR_RETURN(learner->inference_, FlowInference::Open(placed, task));
    if (hooks.stop.stop_requested()) return not_wanted();
    MILLRACE_RETURN_IF_ERROR(learner->CheckOtherRanks(flow.network));
    MILLRACE_RETURN_IF_ERROR(learner->Start(std::move(flow.network)));
    return learner;
  }

  absl::StatusOr<std::int64_t> Admit(const Sample& pictures) override {
    MILLRACE_RETURN_IF_ERROR(CheckPictures(pictures));
    MILLRACE_RETURN_IF_ERROR(interruption());
    decisions_->OnAdmitted(
        {.number = run_->next_sample(),
         .difference = MeanDifference(pictures.previous, pictures.current),
         .difference_before =
             task_.next_frame ? std::optional(MeanDifference(pictures.before, pictures.previous))
                              : std::nullopt,
         .learn_from_every = plan_->learn_from_every(),
         .held = frozen_ || recovery_->gave_up()});
    // Copies to GPUs run concurrently with their computations.
    const c10::MultiStreamGuard uploads(uploads_);
    return SuspendIfLost(run_->Admit([&] {
      return RethrowAsStepError(
          [&] { return BytesOf(pictures, options_.width, options_.height, OnGpu()); });
    }));
  }

  // Switches here and not in Admit(): during the drain, fresher frames can replace waiting ones.
  absl::Status AwaitRoom() override {
    MILLRACE_RETURN_IF_ERROR(ResumeIfComplete());
    return SuspendIfLost(AwaitRoomOfRun());
  }

  absl::StatusOr<ModelPrediction> Predict(const Sample& pictures) override {
    MILLRACE_RETURN_IF_ERROR(CheckPictures(pictures));
    return ExceptionToStatus(
        [&]() -> absl::StatusOr<ModelPrediction> {
          return inference_->Predict(pictures, run_->network());
        },
        InternalCause);
  }

  void LearnFromEvery(int n) override { plan_->LearnFromEvery(n); }

  void FollowRate(double frames_per_second) override { plan_->FollowRate(frames_per_second); }

  void Freeze(bool frozen) override { frozen_ = frozen; }

  absl::Status SetLearningRate(double rate) override {
    MILLRACE_ASSIGN_OR_RETURN(const double factor,
                              RateFactor(rate, options_.optimizer.learning_rate));
    recovery_->SetRateFactor(factor);
    learning_rate_ = rate;
    return absl::OkStatus();
  }
  [[nodiscard]] double learning_rate() const override { return learning_rate_; }

  absl::Status SetOptimizer(const OptimizerOptions& optimizer) override {
    if (ranks_ != nullptr) {
      return absl::FailedPreconditionError(
          "the optimizer of a network over several hosts changes with a restart only");
    }
    return run_->SetOptimizer(optimizer);
  }

  absl::Status SetPolicy(const UpdatePolicyOptions& policy) override {
    MILLRACE_RETURN_IF_ERROR(CheckUpdatePolicy(policy));
    decisions_->SetPolicy(policy);
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return recovery_->AskForCheckpoint(); }

  absl::Status Drain() override {
    absl::Status drained = interruption().ok() ? SuspendIfLost(run_->Drain()) : absl::OkStatus();
    const bool finished = drained.ok() && interruption().ok();
    if (!interruption().ok()) {
      ranks_->StopGathering();
      drained = absl::OkStatus();
    }
    drained.Update(recovery_->Finish(finished));
    return drained;
  }

  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const override {
    return plan_->description();
  }

  [[nodiscard]] std::vector<std::int64_t> updates() const override {
    return run_->network().updates();
  }

  [[nodiscard]] std::vector<std::optional<double>> update_cosines() const override {
    return run_->network().update_cosines();
  }

  [[nodiscard]] std::vector<StageTime> worked() const override { return run_->network().worked(); }

  [[nodiscard]] LearningFigures learning() const override { return recovery_->figures(); }
  [[nodiscard]] std::vector<GpuMemory> gpu_memory() const override {
    return GpuMemoryOf(*description());
  }

  [[nodiscard]] absl::Status interruption() const override {
    return ranks_ != nullptr ? ranks_->missing() : absl::OkStatus();
  }
  [[nodiscard]] std::optional<RankFigures> ranks() const override {
    return ranks_ != nullptr ? std::optional(ranks_->figures()) : std::nullopt;
  }

  [[nodiscard]] const Resumption& resumption() const override { return recovery_->resumption(); }

  [[nodiscard]] std::vector<PastOperation> OperationsSince(nanoseconds since) const override {
    return run_->history().Since(since);
  }

 private:
  FlowLearner(const LearnerOptions& options, const FlowTaskOptions& task,
              OnPrediction on_prediction, const LearnerHooks& hooks,
              std::unique_ptr<const LayerChain> chain)
      : options_(options),
        task_(task),
        hooks_(hooks),
        on_prediction_(std::move(on_prediction)),
        channels_(FlowNetworkInputOf(task.network)->channels),
        chain_(std::move(chain)) {}

  [[nodiscard]] bool HasOtherRanks() const {
    return !options_.rank_of_stage.empty() && options_.rank_of_stage.front() > 0;
  }

  [[nodiscard]] absl::Status CheckOtherRanks(const PlannedChain& network) const {
    if (!HasOtherRanks()) return absl::OkStatus();
    for (const Phase& phase : network.phases) {
      MILLRACE_RETURN_IF_ERROR(CheckRanks(phase.plan, options_.rank_of_stage));
    }
    if (hooks_.join_ranks) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "schedule.stages_on needs other hosts, and this server leads none: add the section `ranks` "
        "to its configuration");
  }

  absl::Status Start(PlannedChain network) {
    MILLRACE_ASSIGN_OR_RETURN(devices_, FindDevices(options_.devices));
    uploads_ = CopyStreams(devices_);
    for (const Phase& phase : network.phases) {
      MILLRACE_RETURN_IF_ERROR(CheckStreams(phase.plan, devices_));
    }
    MILLRACE_ASSIGN_OR_RETURN(recovery_, Recovery::Open(RecoveryOptions(), *chain_));
    network.phases = PhasesFrom(std::move(network.phases), resumption().first_sample);
    MILLRACE_ASSIGN_OR_RETURN(
        plan_, LearnerPlan::Make({.chain = *chain_,
                                  .pipeline = {.cuts = network.cuts,
                                               .plan = network.phases.front().plan,
                                               .costs = std::move(network.costs)},
                                  .for_a_rate = std::move(network.for_a_rate),
                                  .replan_share = OnGpu() ? 0 : options_.replan_share,
                                  .clock = options_.clock,
                                  .complete = [this](LearnerDescription& d) { Complete(d); }}));
    decisions_ = std::make_unique<LearningDecisions>(task_.learning, recovery_->detector());
    return StartRun(std::move(network.cuts), std::move(network.phases));
  }

  [[nodiscard]] absl::Status CheckPictures(const Sample& pictures) const {
    const std::size_t bytes = std::size_t{3} * options_.width * options_.height;
    const std::size_t before = task_.next_frame ? bytes : 0;
    if (pictures.previous.size() == bytes && pictures.current.size() == bytes &&
        pictures.before.size() == before) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "pictures of ", pictures.before.size(), ", ", pictures.previous.size(), " and ",
        pictures.current.size(), " bytes are not ", task_.next_frame ? "three" : "two", " of ",
        options_.width, "x", options_.height, " RGB"));
  }

  [[nodiscard]] Recovery::Options RecoveryOptions() {
    return {.divergence = task_.learning.divergence,
            .copy_every = options_.copy_every,
            .checkpoints = options_.checkpoints,
            .hooks = hooks_,
            .task = FlowTaskInWords(task_.next_frame),
            .optimizer = OptimizerStateInWords(options_.optimizer),
            .seed = options_.seed};
  }

  absl::Status StartRun(Cuts cuts, Phases phases) {
    if (HasOtherRanks()) {
      rank_task_ = TaskFor(cuts, phases);
      MILLRACE_ASSIGN_OR_RETURN(phases, PhasesOfRank(rank_task_, /*rank=*/0));
    }
    StagedNetwork::Options network = NetworkOptions(std::move(cuts), phases.front().plan);
    MILLRACE_ASSIGN_OR_RETURN(
        run_, NetworkRun::Start({.network = std::move(network),
                                 .phases = std::move(phases),
                                 .threads_per_stage = options_.threads_per_stage,
                                 .suspended = HasOtherRanks(),
                                 .prepare = [this](StagedNetwork& made) { recovery_->Begin(made); },
                                 .on_switch = [this] { recovery_->OnSwitch(); },
                                 .on_optimizer = [this] { recovery_->OnOptimizer(); },
                                 .observers = plan_->Observers(),
                                 .clock = options_.clock}));
    if (HasOtherRanks()) {
      ranks_ = std::make_unique<GatheredRanks>(hooks_.join_ranks,
                                               options_.rank_of_stage.front() + 1, *options_.clock);
    }
    return absl::OkStatus();
  }

  absl::Status AwaitRoomOfRun() {
    MILLRACE_RETURN_IF_ERROR(plan_->Follow(*run_));
    if (recovery_->RollBackIsDue()) MILLRACE_RETURN_IF_ERROR(RollBack());
    if (options_.captures && OnGpu()) ReportNotCaptured();
    return run_->AwaitRoom();
  }

  // `result`: of a call of the run. If it failed because another rank is lost, the learner is
  // suspended, and the result says what it waits for.
  template <typename Result>
  Result SuspendIfLost(Result result) {
    const RankGroup* const group = ranks_ != nullptr ? ranks_->group() : nullptr;
    if (result.ok() || group == nullptr || group->lost().ok()) return result;
    run_->Suspend();
    recovery_->RestoreGood();  // At once: Predict() answers meanwhile.
    plan_->Forget();
    MILLRACE_RETURN_IF_ERROR(ranks_->Replace(/*served=*/newest_prediction_ >= first_of_group_));
    return interruption();
  }

  // Fails with interruption() while a rank is missing.
  absl::Status ResumeIfComplete() {
    if (interruption().ok()) return absl::OkStatus();
    MILLRACE_ASSIGN_OR_RETURN(RankGroup* const group, ranks_->Next());
    if (group == nullptr) return interruption();
    first_of_group_ = run_->next_sample();
    return SuspendIfLost(ResumeWith(*group));
  }

  absl::Status ResumeWith(RankGroup& group) {
    RankTask task = rank_task_;
    task.phases = PhasesFrom(std::move(task.phases), run_->next_sample());
    MILLRACE_RETURN_IF_ERROR(SendTask(group, task));
    return run_->Resume(RanksOver(group.wires(), group.epoch()));
  }

  [[nodiscard]] RankTask TaskFor(const Cuts& cuts, const Phases& phases) const {
    return {.flow = FlowRankNetwork{.name = task_.network,
                                    .channels = channels_,
                                    .occlusion = task_.loss.occlusion,
                                    .next_frame = task_.next_frame,
                                    .precision = task_.precision},
            .phases = phases,
            .rank_of_stage = options_.rank_of_stage,
            .cuts = cuts,
            .optimizer = options_.optimizer,
            .stage_rates = options_.stage_rates,
            .seed = options_.seed,
            .threads_per_stage = options_.threads_per_stage,
            .copy_every = options_.copy_every};
  }

  [[nodiscard]] RankWires RanksOver(Wires& wires, std::int64_t epoch) const {
    return {.wires = wires, .rank_of_stage = options_.rank_of_stage, .own_rank = 0, .epoch = epoch};
  }

  void Publish(ModelPrediction made) {
    newest_prediction_ = made.sample;
    on_prediction_(std::move(made));
  }

  [[nodiscard]] StagedNetwork::Options NetworkOptions(Cuts cuts, const Plan& plan) {
    return {
        .chain = *chain_,
        .cuts = std::move(cuts),
        .devices = devices_,
        .plan = plan,
        .first_sample = resumption().first_sample,
        .read = [this](const at::Tensor& bytes) { return PlanesOf(bytes, channels_); },
        .loss = std::make_unique<FlowPredictionLoss>(
            task_, [this](ModelPrediction made) { Publish(std::move(made)); }, *decisions_,
            *recovery_, [this] { return run_->network().updates().back(); }),
        .local_loss = std::make_unique<FlowLevelLoss>(task_, *decisions_, *recovery_),
        .optimizer = options_.optimizer,
        .stage_rates = options_.stage_rates,
        .seed = options_.seed,
        .captures = options_.captures,
        .ranks = HasOtherRanks() ? std::optional(RanksOver(absent_, /*epoch=*/0)) : std::nullopt,
        .on_update = [this](const Step& u) { recovery_->OnUpdate(u); }};
  }

  // A GPU's operations end unobserved, so they are not timed.
  [[nodiscard]] bool OnGpu() const {
    return std::ranges::any_of(devices_, [](at::Device device) { return !device.is_cpu(); });
  }

  // The weights have diverged: drains the engine and restores good ones before the next sample.
  absl::Status RollBack() {
    return run_->Pause([this](StagedNetwork& /*network*/) {
      recovery_->RollBack();
      plan_->Forget();
    });
  }

  void ReportNotCaptured() {
    std::vector<std::string> why = run_->network().why_not_captured();
    not_captured_.resize(why.size());
    for (std::size_t i = 0; i < why.size(); ++i) {
      const bool is_new = !why[i].empty() && why[i] != not_captured_[i];
      if (is_new && hooks_.on_not_captured) {
        hooks_.on_not_captured(static_cast<int>(i) + 1, why[i]);
      }
    }
    not_captured_ = std::move(why);
  }

  void Complete(LearnerDescription& description) const {
    description.width = options_.width;
    description.height = options_.height;
    description.where = where_;
    for (std::size_t i = 0; i < description.stages.size(); ++i) {
      const at::Device device = DeviceOfStage(devices_, static_cast<int>(i) + 1);
      if (!device.is_cpu()) description.stages[i].device = device.str();
      if (!options_.rank_of_stage.empty()) {
        description.stages[i].rank = options_.rank_of_stage[i];
      }
    }
  }

  // Constant after Make(), except their contents.
  const LearnerOptions options_;
  const FlowTaskOptions task_;
  const LearnerHooks hooks_;
  const OnPrediction on_prediction_;
  const int channels_;  // Channels of a picture in the network's input.
  const std::unique_ptr<const LayerChain> chain_;
  std::string where_;
  std::vector<at::Device> devices_;
  std::vector<c10::Stream> uploads_;  // One per GPU.
  std::unique_ptr<Recovery> recovery_;
  std::unique_ptr<LearningDecisions> decisions_;
  std::unique_ptr<LearnerPlan> plan_;
  std::unique_ptr<FlowInference> inference_;
  AbsentWires absent_;
  RankTask rank_task_;                    // For the other ranks, from the stream's start.
  std::unique_ptr<GatheredRanks> ranks_;  // Null: this process runs all stages.

  // For the admitting thread.
  std::vector<std::string> not_captured_;  // As last reported, by stage.
  std::int64_t first_of_group_ = 0;        // The first sample of the group of ranks.

  // Self-synchronized.
  std::atomic<std::int64_t> newest_prediction_ = -1;
  std::atomic<bool> frozen_ = false;
  std::atomic<double> learning_rate_ = options_.optimizer.learning_rate;

  std::unique_ptr<NetworkRun> run_;  // Last: its workers use the members above.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Learner>> MakeFlowLearner(const LearnerOptions& options,
                                                         const FlowTaskOptions& task,
                                                         OnPrediction on_prediction,
                                                         const LearnerHooks& hooks) {
  return FlowLearner::Make(options, task, std::move(on_prediction), hooks);
}

}  // namespace millrace::pipeline
