// The learner of optical flow: cuts and plans the network, runs it by the engine, and plans again
// when the stages' times differ from the planned ones.

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <utility>

#include <c10/core/StreamGuard.h>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/mutex.h"
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
#include "pipeline/planner/replanner.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/stages/describe_learner.h"
#include "pipeline/stages/network_run.h"

namespace millrace::pipeline {
namespace {

RatePlan RatePlanOf(double frames_per_second, const PlannedPipeline& found) {
  return {.frames_per_second = frames_per_second,
          .holds = found.holds,
          .dropped_share = found.dropped_share,
          .limit = found.limit};
}

// Of two numbers for LearnFromEvery(), the one that learns less. If the plan stays, a replanning on
// paper must not undo a reduction that real drops have caused.
int Less(int a, int b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }

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
    MILLRACE_RETURN_IF_ERROR(learner->Start(std::move(flow)));
    return learner;
  }

  absl::StatusOr<std::int64_t> Admit(const Sample& pictures) override {
    MILLRACE_RETURN_IF_ERROR(CheckPictures(pictures));
    decisions_->OnAdmitted(
        {.number = run_->next_sample(),
         .difference = MeanDifference(pictures.previous, pictures.current),
         .difference_before =
             task_.next_frame ? std::optional(MeanDifference(pictures.before, pictures.previous))
                              : std::nullopt,
         .learn_from_every = learn_from_every_,
         .held = frozen_ || recovery_->gave_up()});
    // Copies to GPUs run concurrently with their computations.
    const c10::MultiStreamGuard uploads(uploads_);
    return run_->Admit([&] {
      return RethrowAsStepError(
          [&] { return BytesOf(pictures, options_.width, options_.height, OnGpu()); });
    });
  }

  // Switches here and not in Admit(): during the drain, fresher frames can replace waiting ones.
  absl::Status AwaitRoom() override {
    MILLRACE_RETURN_IF_ERROR(FollowThePlanner());
    if (recovery_->RollBackIsDue()) MILLRACE_RETURN_IF_ERROR(RollBack());
    if (options_.captures && OnGpu()) TellWhatIsNotCaptured();
    return run_->AwaitRoom();
  }

  absl::StatusOr<ModelPrediction> Predict(const Sample& pictures) override {
    MILLRACE_RETURN_IF_ERROR(CheckPictures(pictures));
    return ExceptionToStatus(
        [&]() -> absl::StatusOr<ModelPrediction> {
          return inference_->Predict(pictures, run_->network());
        },
        InternalCause);
  }

  void LearnFromEvery(int n) override ABSL_LOCKS_EXCLUDED(mu_) {
    if (learn_from_every_.exchange(n) == n) return;
    const MutexLock lock(mu_);
    // Cannot fail: another effort's description has succeeded.
    DescribeNow().IgnoreError();
  }

  void FollowRate(double frames_per_second) override {
    if (replanner_ != nullptr) replanner_->FollowRate(frames_per_second);
  }

  void Freeze(bool frozen) override { frozen_ = frozen; }

  absl::Status SetLearningRate(double rate) override {
    MILLRACE_ASSIGN_OR_RETURN(const double factor,
                              RateFactor(rate, options_.optimizer.learning_rate));
    recovery_->SetRateFactor(factor);
    learning_rate_ = rate;
    return absl::OkStatus();
  }
  [[nodiscard]] double learning_rate() const override { return learning_rate_; }

  absl::Status SetPolicy(const UpdatePolicyOptions& policy) override {
    MILLRACE_RETURN_IF_ERROR(CheckUpdatePolicy(policy));
    decisions_->SetPolicy(policy);
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return recovery_->AskForCheckpoint(); }

  absl::Status Drain() override {
    absl::Status drained = run_->Drain();
    drained.Update(recovery_->Finish(drained.ok()));
    return drained;
  }

  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const override
      ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return description_;
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

  absl::Status Start(PlannedFlow flow) ABSL_LOCKS_EXCLUDED(mu_) {
    MILLRACE_ASSIGN_OR_RETURN(devices_, FindDevices(options_.devices));
    uploads_ = CopyStreams(devices_);
    for (const Phase& phase : flow.phases) {
      MILLRACE_RETURN_IF_ERROR(CheckStreams(phase.plan, devices_));
    }
    MILLRACE_ASSIGN_OR_RETURN(recovery_, Recovery::Open(RecoveryOptions(), *chain_));
    flow.phases = PhasesFrom(std::move(flow.phases), resumption().first_sample);
    const Plan& first = flow.phases.front().plan;
    {
      const MutexLock lock(mu_);
      pipeline_ = {.cuts = flow.cuts, .plan = first, .costs = flow.costs};
      if (flow.for_a_rate) {
        rate_plan_ = RatePlanOf(options_.frames_per_second, flow.for_a_rate->found);
        learn_from_every_ = flow.for_a_rate->found.effort.update_every;
      }
      MILLRACE_RETURN_IF_ERROR(DescribeNow());
    }
    if (flow.for_a_rate && options_.replan_share > 0 && !OnGpu()) {
      replanner_ = std::make_unique<Replanner>(
          Replanner::Options{.request = std::move(flow.for_a_rate->request),
                             .share = options_.replan_share,
                             .clock = options_.clock},
          std::move(flow.for_a_rate->found));
    }
    decisions_ = std::make_unique<LearningDecisions>(task_.learning, recovery_->detector());
    return StartRun(std::move(flow));
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

  absl::Status StartRun(PlannedFlow flow) {
    std::vector<ObserveOperation> observers;
    if (replanner_ != nullptr) {
      observers.emplace_back([this](const PastOperation& operation, bool worked) {
        if (worked) replanner_->Record(operation.step, operation.end - operation.start);
      });
    }
    StagedNetwork::Options network = NetworkOptions(std::move(flow.cuts), flow.phases.front().plan);
    MILLRACE_ASSIGN_OR_RETURN(
        run_, NetworkRun::Start({.network = std::move(network),
                                 .phases = std::move(flow.phases),
                                 .threads_per_stage = options_.threads_per_stage,
                                 .prepare = [this](StagedNetwork& made) { recovery_->Begin(made); },
                                 .on_switch = [this] { recovery_->OnSwitch(); },
                                 .observers = std::move(observers),
                                 .clock = options_.clock}));
    return absl::OkStatus();
  }

  [[nodiscard]] StagedNetwork::Options NetworkOptions(Cuts cuts, const Plan& plan) {
    return {.chain = *chain_,
            .cuts = std::move(cuts),
            .devices = devices_,
            .plan = plan,
            .first_sample = resumption().first_sample,
            .read = [this](const at::Tensor& bytes) { return PlanesOf(bytes, channels_); },
            .loss = std::make_unique<FlowPredictionLoss>(
                task_, on_prediction_, *decisions_, *recovery_,
                [this] { return run_->network().updates().back(); }),
            .local_loss = std::make_unique<FlowLevelLoss>(task_, *decisions_, *recovery_),
            .optimizer = options_.optimizer,
            .seed = options_.seed,
            .captures = options_.captures,
            .on_update = [this](const Step& u) { recovery_->OnUpdate(u); }};
  }

  // A GPU's operations end unobserved, so they are not timed.
  [[nodiscard]] bool OnGpu() const {
    return std::ranges::any_of(devices_, [](at::Device device) { return !device.is_cpu(); });
  }

  // Follows the planner if it has planned again: drains the engine, and the next sample is the
  // first one of the new plan.
  absl::Status FollowThePlanner() ABSL_LOCKS_EXCLUDED(mu_) {
    std::optional<Replan> replan = replanner_ != nullptr ? replanner_->Poll() : std::nullopt;
    if (!replan) return absl::OkStatus();
    const int planned = replan->pipeline.effort.update_every;
    learn_from_every_ = replan->switches ? planned : Less(planned, learn_from_every_);
    if (replan->switches) MILLRACE_RETURN_IF_ERROR(SwitchTo(*replan));
    const MutexLock lock(mu_);
    pipeline_ = {.cuts = replan->pipeline.cuts,
                 .plan = replan->pipeline.plan,
                 .costs = std::move(replan->costs)};
    const RatePlan before = rate_plan_.value_or(RatePlan());
    RatePlan next = RatePlanOf(replan->frames_per_second, replan->pipeline);
    next.switched = before.switched + (replan->switches ? 1 : 0);
    next.kept = before.kept + (replan->switches ? 0 : 1);
    next.why = std::move(replan->why);
    rate_plan_ = std::move(next);
    return DescribeNow();
  }

  absl::Status SwitchTo(const Replan& next) {
    MILLRACE_RETURN_IF_ERROR(run_->Switch(next.pipeline.plan, next.pipeline.cuts));
    replanner_->Switched();
    return absl::OkStatus();
  }

  // The weights have diverged: drains the engine and restores good ones before the next sample.
  absl::Status RollBack() {
    return run_->Pause([this](StagedNetwork& /*network*/) {
      recovery_->RollBack();
      if (replanner_ != nullptr) replanner_->Switched();
    });
  }

  void TellWhatIsNotCaptured() {
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

  absl::Status DescribeNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    MILLRACE_ASSIGN_OR_RETURN(LearnerDescription description,
                              Describe(*chain_, pipeline_, {.update_every = learn_from_every_}));
    description.width = options_.width;
    description.height = options_.height;
    description.where = where_;
    for (std::size_t i = 0; i < description.stages.size(); ++i) {
      const at::Device device = DeviceOfStage(devices_, static_cast<int>(i) + 1);
      if (!device.is_cpu()) description.stages[i].device = device.str();
    }
    description.rate_plan = rate_plan_;
    description_ = std::make_shared<const LearnerDescription>(std::move(description));
    return absl::OkStatus();
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
  std::unique_ptr<Replanner> replanner_;  // Null: no replanning.
  std::unique_ptr<FlowInference> inference_;

  // For the admitting thread.
  std::vector<std::string> not_captured_;  // As last reported, by stage.

  // Self-synchronized.
  std::atomic<int> learn_from_every_ = 1;  // For the next sample.
  std::atomic<bool> frozen_ = false;
  std::atomic<double> learning_rate_ = options_.optimizer.learning_rate;

  mutable Mutex mu_;
  CutPipeline pipeline_ ABSL_GUARDED_BY(mu_);
  std::optional<RatePlan> rate_plan_ ABSL_GUARDED_BY(mu_);
  // A description never changes after it is handed out; a newer one replaces it.
  std::shared_ptr<const LearnerDescription> description_ ABSL_GUARDED_BY(mu_);

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
