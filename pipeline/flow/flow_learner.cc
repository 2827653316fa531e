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
#include "pipeline/ranks/rank_task.h"
#include "pipeline/recovery/learner_ranks.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/stages/learner_plan.h"
#include "pipeline/stages/network_run.h"

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
    return ranks_.SuspendIfLost(run_->Admit([&] {
      return RethrowAsStepError(
          [&] { return BytesOf(pictures, options_.width, options_.height, OnGpu()); });
    }));
  }

  // Switches here and not in Admit(): during the drain, fresher frames can replace waiting ones.
  absl::Status AwaitRoom() override {
    MILLRACE_RETURN_IF_ERROR(ranks_.ResumeIfComplete());
    return ranks_.SuspendIfLost(AwaitRoomOfRun());
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
    return run_->SetOptimizer(optimizer);
  }

  absl::Status SetPolicy(const UpdatePolicyOptions& policy) override {
    MILLRACE_RETURN_IF_ERROR(CheckUpdatePolicy(policy));
    decisions_->SetPolicy(policy);
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return recovery_->AskForCheckpoint(); }

  absl::Status Drain() override { return ranks_.Drain(); }

  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const override {
    return plan_->description();
  }

  [[nodiscard]] std::vector<std::int64_t> updates() const override {
    return run_->network().updates();
  }

  [[nodiscard]] std::vector<std::optional<double>> update_cosines() const override {
    return run_->network().update_cosines();
  }

  [[nodiscard]] std::vector<StageTime> worked() const override { return ranks_.worked(); }

  [[nodiscard]] LearningFigures learning() const override { return recovery_->figures(); }
  [[nodiscard]] std::vector<GpuMemory> gpu_memory() const override {
    return GpuMemoryOf(*description());
  }

  [[nodiscard]] absl::Status interruption() const override { return ranks_.missing(); }
  [[nodiscard]] std::optional<RankFigures> ranks() const override { return ranks_.figures(); }

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
    StagedNetwork::Options network = NetworkOptions(std::move(cuts), phases.front().plan);
    NetworkRun::Options run{.network = std::move(network),
                            .phases = std::move(phases),
                            .threads_per_stage = options_.threads_per_stage,
                            .prepare = [this](StagedNetwork& made) { recovery_->Begin(made); },
                            .on_switch = [this] { recovery_->OnSwitch(); },
                            .on_optimizer = [this] { recovery_->OnOptimizer(); },
                            .observers = plan_->Observers(),
                            .clock = options_.clock};
    MILLRACE_ASSIGN_OR_RETURN(
        run_, ranks_.Start({.run = std::move(run),
                            .recovery = recovery_.get(),
                            .plan = plan_.get(),
                            .network = NetworkOfRanks(),
                            .file = IsNetworkFile(task_.network) ? task_.network : ""}));
    return absl::OkStatus();
  }

  [[nodiscard]] RankTask NetworkOfRanks() const {
    return {.flow = FlowRankNetwork{.name = task_.network,
                                    .channels = channels_,
                                    .occlusion = task_.loss.occlusion,
                                    .next_frame = task_.next_frame,
                                    .precision = task_.precision}};
  }

  absl::Status AwaitRoomOfRun() {
    MILLRACE_RETURN_IF_ERROR(plan_->Follow(*run_));
    if (recovery_->RollBackIsDue()) MILLRACE_RETURN_IF_ERROR(RollBack());
    if (options_.captures && OnGpu()) ReportNotCaptured();
    return run_->AwaitRoom();
  }

  void Publish(ModelPrediction made) {
    ranks_.OnPredicted(made.sample);
    on_prediction_(std::move(made));
  }

  [[nodiscard]] StagedNetwork::Options NetworkOptions(Cuts cuts, const Plan& plan) {
    return {.chain = *chain_,
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
    }
    ranks_.Describe(description);
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
  LearnerRanks ranks_{options_, hooks_};

  // For the admitting thread.
  std::vector<std::string> not_captured_;  // As last reported, by stage.

  // Self-synchronized.
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
