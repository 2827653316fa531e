// The learner of optical flow: cuts and plans the network, runs it by the engine, and plans again
// when the stages' times differ from the planned ones.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/StreamGuard.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/foreign_error.h"
#include "base/mutex.h"
#include "base/status.h"
#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/device/device_choice.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/device/device_memory.h"
#include "pipeline/device/device_streams.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/engine/phased_engine.h"
#include "pipeline/flow/flow_inference.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_plan.h"
#include "pipeline/flow/flow_stage_loss.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/rate_factor.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/planner/replanner.h"
#include "pipeline/recovery/lasting_learning.h"
#include "pipeline/stages/describe_learner.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

// Names the worker's thread, for ps, top and gdb. Threads that LibTorch starts from it inherit the
// name.
void PrepareWorker(int device, int threads) {
  pthread_setname_np(pthread_self(), absl::StrCat("stage ", device + 1).c_str());
  at::set_num_threads(threads);
}

RatePlan RatePlanOf(const FlowLearnerOptions& options, const PlannedPipeline& found) {
  return {.frames_per_second = options.frames_per_second,
          .holds = found.holds,
          .dropped_share = found.dropped_share,
          .limit = found.limit};
}

// Of two numbers for LearnFromEvery(), the one that learns less. If the plan stays, a replanning on
// paper must not undo a reduction that real drops have caused.
int Less(int a, int b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }

class FlowLearner final : public Learner {
 public:
  static absl::StatusOr<std::unique_ptr<Learner>> Make(const FlowLearnerOptions& options,
                                                       OnPrediction on_prediction) {
    MILLRACE_ASSIGN_OR_RETURN(DeviceChoice choice, ChooseDevices(options.devices));
    FlowLearnerOptions placed = options;
    placed.devices = std::move(choice.names);
    const auto not_wanted = [&] { return absl::CancelledError("the learner is not wanted"); };
    MILLRACE_ASSIGN_OR_RETURN(PlannedFlow flow, PlanFlow(placed));
    if (options.stop.stop_requested()) return not_wanted();
    std::unique_ptr<FlowLearner> learner(
        new FlowLearner(placed, std::move(on_prediction), std::move(flow.chain)));
    learner->where_ = std::move(choice.where);
    MILLRACE_ASSIGN_OR_RETURN(learner->inference_, FlowInference::Open(placed));
    if (options.stop.stop_requested()) return not_wanted();
    MILLRACE_RETURN_IF_ERROR(learner->Start(std::move(flow)));
    return learner;
  }

  absl::StatusOr<std::int64_t> Admit(const Sample& pictures) override {
    MILLRACE_RETURN_IF_ERROR(CheckPictures(pictures));
    decisions_->OnAdmitted(
        {.number = admitted_,
         .difference = MeanDifference(pictures.previous, pictures.current),
         .difference_before =
             options_.next_frame ? std::optional(MeanDifference(pictures.before, pictures.previous))
                                 : std::nullopt,
         .learn_from_every = learn_from_every_,
         .held = frozen_ || lasting_->safe().gave_up()});
    // Copies to GPUs run concurrently with their computations.
    const c10::MultiStreamGuard uploads(uploads_);
    MILLRACE_ASSIGN_OR_RETURN(const std::int64_t number, engine_->Admit([&](std::int64_t sample) {
      const at::Tensor bytes = RethrowAsStepError(
          [&] { return BytesOf(pictures, options_.width, options_.height, OnGpu()); });
      network_->Admit(sample, bytes);
    }));
    MILLRACE_CHECK(number == admitted_);
    return admitted_++;
  }

  // Switches here and not in Admit(): during the drain, fresher frames can replace waiting ones.
  absl::Status AwaitRoom() override {
    MILLRACE_RETURN_IF_ERROR(FollowThePlanner());
    if (lasting_->safe().RollBackIsDue()) MILLRACE_RETURN_IF_ERROR(RollBack());
    if (options_.captures && OnGpu()) TellWhatIsNotCaptured();
    return engine_->AwaitRoom();
  }

  absl::StatusOr<ModelPrediction> Predict(const Sample& pictures) override {
    MILLRACE_RETURN_IF_ERROR(CheckPictures(pictures));
    try {
      return inference_->Predict(pictures, *network_);
    } catch (const std::exception& e) {
      return absl::InternalError(CauseLine(e.what()));
    }
  }

  void LearnFromEvery(int n) override ABSL_LOCKS_EXCLUDED(mu_) {
    if (learn_from_every_.exchange(n) == n) return;
    const MutexLock lock(mu_);
    // Cannot fail: another effort's description has succeeded.
    DescribeNow().IgnoreError();
  }

  void Freeze(bool frozen) override { frozen_ = frozen; }

  absl::Status SetLearningRate(double rate) override {
    MILLRACE_ASSIGN_OR_RETURN(const double factor, RateFactor(rate, options_.learning_rate));
    lasting_->safe().SetRateFactor(factor, *network_);
    learning_rate_ = rate;
    return absl::OkStatus();
  }
  [[nodiscard]] double learning_rate() const override { return learning_rate_; }

  absl::Status SetPolicy(const UpdatePolicyOptions& policy) override {
    MILLRACE_RETURN_IF_ERROR(CheckUpdatePolicy(policy));
    decisions_->SetPolicy(policy);
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return lasting_->AskForCheckpoint(); }

  absl::Status Drain() override {
    absl::Status drained = engine_->Drain();
    lasting_->Finish(drained.ok());
    return drained;
  }

  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const override
      ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return description_;
  }

  [[nodiscard]] std::vector<std::int64_t> updates() const override { return network_->updates(); }

  [[nodiscard]] std::vector<StageTime> worked() const override { return network_->worked(); }

  [[nodiscard]] LearningFigures learning() const override { return lasting_->figures(); }
  [[nodiscard]] std::vector<GpuMemory> gpu_memory() const override {
    return GpuMemoryOf(*description());
  }

  [[nodiscard]] const Resumption& resumption() const override { return lasting_->resumption(); }

  [[nodiscard]] std::vector<PastOperation> OperationsSince(nanoseconds since) const override {
    return engine_->history().Since(since);
  }

 private:
  FlowLearner(const FlowLearnerOptions& options, OnPrediction on_prediction,
              std::unique_ptr<const LayerChain> chain)
      : options_(options),
        on_prediction_(std::move(on_prediction)),
        channels_(FlowNetworkInputOf(options.network)->channels),
        chain_(std::move(chain)) {}

  absl::Status Start(PlannedFlow flow) ABSL_LOCKS_EXCLUDED(mu_) {
    MILLRACE_ASSIGN_OR_RETURN(devices_, FindDevices(options_.devices));
    uploads_ = CopyStreams(devices_);
    for (const Phase& phase : flow.phases) {
      MILLRACE_RETURN_IF_ERROR(CheckStreams(phase.plan, devices_));
    }
    MILLRACE_ASSIGN_OR_RETURN(lasting_, LastingLearning::Open(LastingOptions(), *chain_));
    admitted_ = resumption().first_sample;
    flow.phases = PhasesFrom(std::move(flow.phases), admitted_);
    const Plan& first = flow.phases.front().plan;
    {
      const MutexLock lock(mu_);
      pipeline_ = {.cuts = flow.cuts, .plan = first, .costs = flow.costs};
      if (flow.for_a_rate) {
        rate_plan_ = RatePlanOf(options_, flow.for_a_rate->found);
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
    auto loss = std::make_unique<FlowPredictionLoss>(options_, on_prediction_);
    auto level_loss = std::make_unique<FlowLevelLoss>(options_);
    FlowPredictionLoss& of_network = *loss;
    FlowLevelLoss& of_levels = *level_loss;
    network_ = std::make_unique<StagedNetwork>(StagedNetwork::Options{
        .chain = *chain_,
        .cuts = std::move(flow.cuts),
        .devices = devices_,
        .plan = first,
        .first_sample = admitted_,
        .read = [this](const at::Tensor& bytes) { return PlanesOf(bytes, channels_); },
        .loss = std::move(loss),
        .local_loss = std::move(level_loss),
        .optimizer = {.learning_rate = options_.learning_rate},
        .seed = options_.seed,
        .captures = options_.captures,
        .on_update = [this](const Step& u) { lasting_->safe().OnUpdate(*network_, u); }});
    lasting_->Begin(*network_);
    decisions_ = std::make_unique<LearningDecisions>(options_.learning, lasting_->safe().health());
    of_network.Attach(*network_, *decisions_, lasting_->safe());
    of_levels.Attach(*decisions_, lasting_->safe());
    return StartEngine(std::move(flow.phases), flow.costs);
  }

  [[nodiscard]] absl::Status CheckPictures(const Sample& pictures) const {
    const std::size_t bytes = std::size_t{3} * options_.width * options_.height;
    const std::size_t before = options_.next_frame ? bytes : 0;
    if (pictures.previous.size() == bytes && pictures.current.size() == bytes &&
        pictures.before.size() == before) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "pictures of ", pictures.before.size(), ", ", pictures.previous.size(), " and ",
        pictures.current.size(), " bytes are not ", options_.next_frame ? "three" : "two", " of ",
        options_.width, "x", options_.height, " RGB"));
  }

  [[nodiscard]] LastingLearning::Options LastingOptions() {
    return {.divergence = options_.learning.divergence,
            .copy_every = options_.copy_every,
            .checkpoints = options_.checkpoints,
            .task = FlowTaskInWords(options_),
            .seed = options_.seed};
  }

  absl::Status StartEngine(Phases phases, const std::vector<StageCost>& costs) {
    const auto prepare = [threads = options_.threads_per_stage](int device) {
      PrepareWorker(device, threads);
    };
    std::vector<ObserveOperation> observers = {network_->Observer()};
    if (replanner_ != nullptr) {
      observers.emplace_back([this](const PastOperation& operation, bool worked) {
        if (worked) replanner_->Record(operation.step, operation.end - operation.start);
      });
    }
    MILLRACE_ASSIGN_OR_RETURN(
        engine_, PhasedEngine::Start({.phases = std::move(phases),
                                      .run = std::bind_front(&StagedNetwork::Run, network_.get()),
                                      .on_worker_start = prepare,
                                      .gate_costs = GateCosts(costs),
                                      .make_devices = MakeDeviceStreams(devices_),
                                      .on_switch =
                                          [this](const Phase& phase) {
                                            lasting_->safe().OnSwitch();
                                            network_->Switch(phase.plan, phase.first_sample);
                                          },
                                      .observers = std::move(observers),
                                      .clock = options_.clock}));
    return absl::OkStatus();
  }

  // In seconds, at the current effort. Empty: no gate.
  [[nodiscard]] std::vector<StageCost> GateCosts(const std::vector<StageCost>& costs) const {
    if (!options_.gate || OnGpu()) return {};
    std::vector<StageCost> seconds;
    for (const StageCost& cost : costs) {
      const StageCost ms = AtEffort(cost, {.update_every = learn_from_every_});
      seconds.push_back({.forward = ms.forward / 1000,
                         .backward = ms.backward / 1000,
                         .update = ms.update / 1000,
                         .copy = ms.copy / 1000});
    }
    return seconds;
  }

  // A GPU's operations end unobserved, so they are neither timed nor held back.
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
    RatePlan next = RatePlanOf(options_, replan->pipeline);
    next.switched = before.switched + (replan->switches ? 1 : 0);
    next.kept = before.kept + (replan->switches ? 0 : 1);
    next.why = std::move(replan->why);
    rate_plan_ = std::move(next);
    return DescribeNow();
  }

  absl::Status SwitchTo(const Replan& next) {
    return engine_->Switch(next.pipeline.plan, GateCosts(next.costs), [&](const Phase& phase) {
      lasting_->safe().OnSwitch();
      network_->Switch(phase.plan, phase.first_sample, next.pipeline.cuts);
      replanner_->Switched();
    });
  }

  // The weights have diverged: drains the engine and restores good ones before the next sample.
  absl::Status RollBack() {
    return engine_->Pause([this](const Phase& phase) {
      network_->Switch(phase.plan, phase.first_sample);
      lasting_->safe().RollBack(*network_);
      if (replanner_ != nullptr) replanner_->Switched();
    });
  }

  void TellWhatIsNotCaptured() {
    std::vector<std::string> why = network_->why_not_captured();
    not_captured_.resize(why.size());
    for (std::size_t i = 0; i < why.size(); ++i) {
      const bool is_new = !why[i].empty() && why[i] != not_captured_[i];
      if (is_new && options_.on_not_captured) {
        options_.on_not_captured(static_cast<int>(i) + 1, why[i]);
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
  const FlowLearnerOptions options_;
  const OnPrediction on_prediction_;
  const int channels_;  // Channels of a picture in the network's input.
  const std::unique_ptr<const LayerChain> chain_;
  std::string where_;
  std::vector<at::Device> devices_;
  std::vector<c10::Stream> uploads_;  // One per GPU.
  std::unique_ptr<LastingLearning> lasting_;
  std::unique_ptr<LearningDecisions> decisions_;
  std::unique_ptr<Replanner> replanner_;  // Null: no replanning.
  std::unique_ptr<StagedNetwork> network_;
  std::unique_ptr<FlowInference> inference_;

  // For the admitting thread.
  std::int64_t admitted_ = 0;
  std::vector<std::string> not_captured_;  // As last reported, by stage.

  // Self-synchronized.
  std::atomic<int> learn_from_every_ = 1;  // For the next sample.
  std::atomic<bool> frozen_ = false;
  std::atomic<double> learning_rate_ = options_.learning_rate;

  mutable Mutex mu_;
  CutPipeline pipeline_ ABSL_GUARDED_BY(mu_);
  std::optional<RatePlan> rate_plan_ ABSL_GUARDED_BY(mu_);
  // A description never changes after it is handed out; a newer one replaces it.
  std::shared_ptr<const LearnerDescription> description_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<PhasedEngine> engine_;  // Last: its workers use the members above.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Learner>> MakeFlowLearner(const FlowLearnerOptions& options,
                                                         OnPrediction on_prediction) {
  return FlowLearner::Make(options, std::move(on_prediction));
}

}  // namespace millrace::pipeline
