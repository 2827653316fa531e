#include "pipeline/labels/staged_label_learner.h"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/learner/planar_picture.h"
#include "pipeline/learner/rate_factor.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {
namespace {

constexpr int kMaxWindow = 1 << 20;

absl::Status NotWanted() { return absl::CancelledError("the learner is not wanted"); }

absl::Status CheckSafety(const LearnerOptions& options, const DivergenceOptions& divergence) {
  if (options.copy_every >= 1 && divergence.window >= 1 && options.checkpoints.every >= 1 &&
      options.checkpoints.keep >= 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "copy_every, divergence.window, checkpoints.every and checkpoints.keep must be at least 1");
}

absl::Status CheckOptions(const LearnerOptions& options, const LabelTaskOptions& task) {
  if (task.divergence) MILLRACE_RETURN_IF_ERROR(CheckSafety(options, *task.divergence));
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  MILLRACE_RETURN_IF_ERROR(CheckRate(options));
  MILLRACE_RETURN_IF_ERROR(CheckRankOptions(options));
  if (task.window < 1 || task.window > kMaxWindow) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window of ", task.window, " samples; it must be 1 to ", kMaxWindow));
  }
  if (task.outputs < (task.task == LabelTask::kClassification ? 2 : 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(task.outputs, " outputs; there must be 2 classes or 1 value at least"));
  }
  if (options.threads_per_stage < 1) {
    return absl::InvalidArgumentError("a stage needs at least one thread");
  }
  if (std::ranges::any_of(SampleShape(options, task),
                          [](std::int64_t size) { return size < 1 || size > (1 << 24); })) {
    return absl::InvalidArgumentError("the shape of a sample needs positive sizes");
  }
  return absl::OkStatus();
}

absl::StatusOr<Cuts> CutsOf(const LearnerOptions& options,
                            const std::vector<LayerProfile>& layers) {
  if (!options.cuts.empty()) {
    MILLRACE_RETURN_IF_ERROR(CheckCuts(options.cuts, static_cast<int>(layers.size())));
    return options.cuts;
  }
  return BestCuts({.layers = layers, .stages = options.stages});
}

}  // namespace

absl::StatusOr<std::unique_ptr<StagedLabelLearner>> StagedLabelLearner::Make(
    const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
    const LearnerHooks& hooks, LabelCopies copies) {
  return MakeWith(options, task, std::move(on_prediction), hooks, {.copies = std::move(copies)});
}

absl::StatusOr<std::unique_ptr<StagedLabelLearner>> StagedLabelLearner::MakeMeasured(
    const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
    const LearnerHooks& hooks, const NetworkProfile& profile) {
  return MakeWith(options, task, std::move(on_prediction), hooks, {.profile = profile});
}

absl::StatusOr<std::unique_ptr<StagedLabelLearner>> StagedLabelLearner::MakeWith(
    const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
    const LearnerHooks& hooks, Extras extras) {
  MILLRACE_RETURN_IF_ERROR(CheckOptions(options, task));
  at::set_num_threads(options.threads_per_stage);
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<StagedLabelLearner>> {
        Networks networks;
        MILLRACE_ASSIGN_OR_RETURN(NetworkWithState learning,
                                  OpenLabelNetwork(options, task, hooks.stop));
        MILLRACE_ASSIGN_OR_RETURN(NetworkWithState copied,
                                  OpenLabelNetwork(options, task, hooks.stop));
        networks.learning = std::move(learning.chain);
        networks.copied = std::move(copied.chain);
        std::unique_ptr<StagedLabelLearner> learner(new StagedLabelLearner(
            options, task, hooks, std::move(extras.copies), std::move(networks)));
        MILLRACE_RETURN_IF_ERROR(learner->Start(std::move(on_prediction), extras.profile));
        return learner;
      },
      InternalCause);
}

StagedLabelLearner::StagedLabelLearner(const LearnerOptions& options, const LabelTaskOptions& task,
                                       const LearnerHooks& hooks, LabelCopies copies,
                                       Networks networks)
    : options_(options),
      task_(task),
      hooks_(hooks),
      on_copies_(std::move(copies)),
      sample_shape_(SampleShape(options, task)),
      chain_(std::move(networks.learning)),
      window_(task.window),
      copied_(std::move(networks.copied), options, task),
      newest_(copied_.chain(), options.threads_per_stage) {}

absl::Status StagedLabelLearner::Start(OnPrediction on_prediction, const NetworkProfile& profile) {
  if (const auto& divergence = task_.divergence) {
    MILLRACE_ASSIGN_OR_RETURN(recovery_, Recovery::Open(RecoveryOptions(*divergence), chain_));
  }
  const std::int64_t first_sample = resumption().first_sample;
  window_ = SampleWindow(task_.window, first_sample);
  const std::vector<float> zeros(NumbersOf(sample_shape_), 0.0F);
  const at::Tensor first = SampleWindow(task_.window).Add(BatchOf(zeros, sample_shape_)[0]);
  MILLRACE_ASSIGN_OR_RETURN(PlannedChain planned, PlanChain(first, profile));
  planned.phases = PhasesFrom(std::move(planned.phases), first_sample);
  labels_ = std::make_unique<LateLabels>(LateLabels::Options{
      .window = task_.window, .in_flight = StepsInFlight(planned.phases), .first = first_sample});
  if (hooks_.stop.stop_requested()) return NotWanted();
  const FirstInput input{
      .chain = chain_, .cuts = planned.cuts, .input = first, .seed = options_.seed};
  MILLRACE_RETURN_IF_ERROR(TryStages(input, options_.schedule,
                                     [this](const at::Tensor& output, const std::string& what) {
                                       return CheckOutputShape(task_, output, what);
                                     }));
  if (hooks_.stop.stop_requested()) return NotWanted();
  if (on_copies_.every > 0) {
    copies_ =
        std::make_unique<SnapshotCollector>(on_copies_.every, [this](const NetworkState& state) {
          copied_.Take(state.layers);
          on_copies_.on_copy(state.sample, copied_);
        });
  }
  Cuts cuts = planned.cuts;
  Phases phases = planned.phases;
  MILLRACE_RETURN_IF_ERROR(MakePlan(std::move(planned)));
  return StartRun(std::move(cuts), std::move(phases), std::move(on_prediction));
}

absl::StatusOr<PlannedChain> StagedLabelLearner::PlanChain(const at::Tensor& first,
                                                           const NetworkProfile& profile) const {
  const bool measured = !profile.layers.empty();
  if (measured && options_.schedule == "auto") {
    return PlanForTheRate(chain_, options_, profile, hooks_.stop);
  }
  std::vector<LayerProfile> layers = profile.layers;
  if (!measured) layers.resize(chain_.layers.size());
  for (LayerProfile& layer : layers) {
    if (!measured) layer.cost = kAssumedCost;
  }
  PlannedChain planned;
  MILLRACE_ASSIGN_OR_RETURN(planned.cuts, CutsOf(options_, layers));
  planned.costs = StageCosts(CostsOf(layers), planned.cuts);
  const FirstInput input{
      .chain = chain_, .cuts = planned.cuts, .input = first, .seed = options_.seed};
  MILLRACE_ASSIGN_OR_RETURN(
      planned.phases, PlanStages(input, options_.schedule, options_.request,
                                 [](const at::Tensor& output) { return output.square().mean(); }));
  return planned;
}

absl::Status StagedLabelLearner::MakePlan(PlannedChain planned) {
  const auto complete = [this](LearnerDescription& description) {
    description.width = options_.width;
    description.height = options_.height;
    description.labels = {.task = task_.task,
                          .outputs = task_.outputs,
                          .classes = task_.classes,
                          .window = task_.window};
    ranks_.Describe(description);
  };
  const auto before_switch = [this](const Plan& next) {
    labels_->Remember(StepsInFlight({{.plan = next}}));
  };
  MILLRACE_ASSIGN_OR_RETURN(plan_,
                            LearnerPlan::Make({.chain = chain_,
                                               .pipeline = {.cuts = std::move(planned.cuts),
                                                            .plan = planned.phases.front().plan,
                                                            .costs = std::move(planned.costs)},
                                               .for_a_rate = std::move(planned.for_a_rate),
                                               .replan_share = options_.replan_share,
                                               .clock = options_.clock,
                                               .complete = complete,
                                               .before_switch = before_switch}));
  return absl::OkStatus();
}

absl::Status StagedLabelLearner::StartRun(Cuts cuts, Phases phases, OnPrediction on_prediction) {
  const Plan first = phases.front().plan;
  NetworkRun::Options run{
      .network = NetworkOptions(std::move(cuts), first, std::move(on_prediction)),
      .phases = std::move(phases),
      .threads_per_stage = options_.threads_per_stage,
      .observers = plan_->Observers(),
      .clock = options_.clock};
  if (recovery_ != nullptr) {
    run.prepare = [this](StagedNetwork& network) { recovery_->Begin(network); };
    run.on_switch = [this] { recovery_->OnSwitch(); };
    run.on_optimizer = [this] { recovery_->OnOptimizer(); };
  }
  LabelRankNetwork network{.name = task_.network,
                           .layers = task_.layers,
                           .width = task_.width,
                           .outputs = task_.outputs,
                           .sample_shape = sample_shape_};
  MILLRACE_ASSIGN_OR_RETURN(run_, ranks_.Start({.run = std::move(run),
                                                .recovery = recovery_.get(),
                                                .plan = plan_.get(),
                                                .network = {.labels = std::move(network)},
                                                .file = task_.model}));
  return absl::OkStatus();
}

StagedNetwork::Options StagedLabelLearner::NetworkOptions(Cuts cuts, const Plan& plan,
                                                          OnPrediction on_prediction) {
  auto loss = std::make_unique<LabelPredictionLoss>(
      task_, *labels_, Publisher(std::move(on_prediction)),
      [this] { return run_->network().updates().back(); }, ScoreTaker());
  StagedNetwork::Options network{.chain = chain_,
                                 .cuts = std::move(cuts),
                                 .plan = plan,
                                 .first_sample = resumption().first_sample,
                                 .loss = std::move(loss),
                                 .local_loss = std::make_unique<LabelWindowLoss>(task_, *labels_),
                                 .optimizer = options_.optimizer,
                                 .stage_rates = options_.stage_rates,
                                 .seed = options_.seed};
  if (copies_ != nullptr || recovery_ != nullptr) {
    network.on_update = [this](const Step& update) {
      const StagedNetwork& at_work = run_->network();
      if (copies_ != nullptr) copies_->OnUpdate(at_work, update);
      if (recovery_ != nullptr) recovery_->OnUpdate(update);
    };
  }
  return network;
}

Recovery::Options StagedLabelLearner::RecoveryOptions(const DivergenceOptions& divergence) const {
  return {.divergence = divergence,
          .copy_every = options_.copy_every,
          .checkpoints = options_.checkpoints,
          .hooks = hooks_,
          .task = TaskInWords(task_),
          .optimizer = OptimizerStateInWords(options_.optimizer),
          .seed = options_.seed};
}

// Adds the size of the pictures, and whether the learner holds back its updates.
OnPrediction StagedLabelLearner::Publisher(OnPrediction on_prediction) {
  return [this, publish = std::move(on_prediction)](ModelPrediction prediction) {
    ranks_.OnPredicted(prediction.sample);
    prediction.width = options_.width;
    prediction.height = options_.height;
    if (prediction.skipped == SkipReason::kNone && IsHeld()) prediction.skipped = SkipReason::kHeld;
    publish(std::move(prediction));
  };
}

// Reports each prediction to the safety of the weights; empty without it. A step without labels
// says nothing about the weights, unless its outputs are not finite.
OnLabelScore StagedLabelLearner::ScoreTaker() {
  if (recovery_ == nullptr) return {};
  return [this](const LabelScore& score) {
    if (score.labelled > 0) {
      static_cast<void>(recovery_->detector().Add({.sample = score.sample,
                                                   .finite = score.finite,
                                                   .loss = score.loss,
                                                   .loss_no_motion = score.loss_of_zeros}));
    } else {
      recovery_->detector().AddFinite(score.finite);
    }
    Recovery::Scored scored{.sample = score.sample, .learned = score.learned};
    // Bounded, because losses that are far off must not hide behind their own spread.
    if (score.fresh > 0 && score.finite) {
      scored.ratio = score.fresh_loss / (score.fresh_loss + score.loss_of_zeros);
    }
    return recovery_->OnScored(scored);
  };
}

absl::StatusOr<std::int64_t> StagedLabelLearner::Admit(const Sample& sample) {
  MILLRACE_RETURN_IF_ERROR(CheckPicture(sample));
  return AdmitSample(ValuesOf(sample), sample.label);
}

absl::StatusOr<std::int64_t> StagedLabelLearner::AdmitSample(std::span<const float> values,
                                                             std::optional<SampleLabel> label) {
  MILLRACE_RETURN_IF_ERROR(CheckValues(values));
  if (label) MILLRACE_RETURN_IF_ERROR(CheckLabel(*label, task_.task, task_.outputs));
  MILLRACE_RETURN_IF_ERROR(interruption());
  SampleWindow next = window_;
  const at::Tensor batch = next.Add(BatchOf(values, sample_shape_)[0]);
  labels_->Admit(run_->next_sample(), std::move(label), plan_->learn_from_every());
  absl::StatusOr<std::int64_t> number = ranks_.SuspendIfLost(run_->Admit([&] { return batch; }));
  if (number.ok()) {
    window_ = std::move(next);
  } else {
    labels_->Withdraw();  // The next sample gets its number.
  }
  return number;
}

absl::Status StagedLabelLearner::AwaitRoom() {
  MILLRACE_RETURN_IF_ERROR(ranks_.ResumeIfComplete());
  return ranks_.SuspendIfLost(AwaitRoomOfRun());
}

absl::Status StagedLabelLearner::AwaitRoomOfRun() {
  MILLRACE_RETURN_IF_ERROR(plan_->Follow(*run_));
  if (recovery_ != nullptr && recovery_->RollBackIsDue()) {
    // The weights have diverged: finishes all steps and restores good weights before the next
    // sample.
    MILLRACE_RETURN_IF_ERROR(run_->Pause([this](StagedNetwork& /*network*/) {
      if (copies_ != nullptr) copies_->Restart();
      recovery_->RollBack();
      labels_->GiveUp();  // One of the labels may be the cause.
      plan_->Forget();
    }));
  }
  return run_->AwaitRoom();
}

absl::Status StagedLabelLearner::Label(std::int64_t sample, const SampleLabel& label) {
  MILLRACE_RETURN_IF_ERROR(CheckLabel(label, task_.task, task_.outputs));
  return labels_->Add(sample, label);
}

absl::StatusOr<ModelPrediction> StagedLabelLearner::Predict(const Sample& sample) {
  MILLRACE_RETURN_IF_ERROR(CheckPicture(sample));
  return PredictSample(ValuesOf(sample));
}

absl::StatusOr<ModelPrediction> StagedLabelLearner::PredictSample(std::span<const float> values) {
  MILLRACE_CHECK(copies_ == nullptr);
  MILLRACE_RETURN_IF_ERROR(CheckValues(values));
  ModelPrediction made{
      .sample = -1, .width = options_.width, .height = options_.height, .flow = nullptr};
  std::vector<float> outputs;
  MILLRACE_RETURN_IF_ERROR(ExceptionToStatus(
      [&] {
        newest_.Ask(run_->network(), [&](std::int64_t updates) {
          outputs = std::move(copied_.Outputs(values).front());
          made.updates = updates;
        });
      },
      InternalCause));
  SetOutputs(std::move(outputs), task_.task, made);
  return made;
}

// A frozen step is like one without labels: its labels are not learned from later.
void StagedLabelLearner::Freeze(bool frozen) {
  frozen_ = frozen;
  ApplyRate();
}

absl::Status StagedLabelLearner::SetLearningRate(double rate) {
  MILLRACE_ASSIGN_OR_RETURN(const double factor,
                            RateFactor(rate, options_.optimizer.learning_rate));
  rate_factor_ = factor;
  ApplyRate();
  return absl::OkStatus();
}

void StagedLabelLearner::ScaleLearningRate(double factor) {
  MILLRACE_CHECK(recovery_ != nullptr);
  recovery_->SetRateFactor(factor);
}

absl::StatusOr<std::int64_t> StagedLabelLearner::AskForCheckpoint() {
  MILLRACE_CHECK(recovery_ != nullptr);
  return recovery_->AskForCheckpoint();
}

const LabelModel& StagedLabelLearner::Model() {
  newest_.Put(run_->network().store().Save());
  return copied_;
}

LearningFigures StagedLabelLearner::learning() const {
  if (recovery_ != nullptr) return recovery_->figures();
  LearningFigures figures;
  figures.gradients_not_finite = run_->network().gradients_not_finite();
  return figures;
}

const Resumption& StagedLabelLearner::resumption() const {
  static const Resumption anew;
  return recovery_ != nullptr ? recovery_->resumption() : anew;
}

absl::Status StagedLabelLearner::CheckPicture(const Sample& sample) const {
  const std::size_t bytes = std::size_t{3} * options_.width * options_.height;
  if (sample.current.size() == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a picture of ", sample.current.size(),
                                                 " bytes is not ", options_.width, "x",
                                                 options_.height, " RGB"));
}

absl::Status StagedLabelLearner::CheckValues(std::span<const float> values) const {
  const auto numbers = static_cast<std::size_t>(NumbersOf(sample_shape_));
  if (values.size() != numbers) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sample of ", values.size(), " numbers; the model reads ", numbers));
  }
  if (!AllFinite(values)) {
    return absl::InvalidArgumentError("a number of the sample is not finite");
  }
  return absl::OkStatus();
}

std::vector<float> StagedLabelLearner::ValuesOf(const Sample& sample) const {
  return PlanarOf(sample.current, task_.grey ? 1 : 3);
}

bool StagedLabelLearner::IsHeld() const {
  return frozen_ || (recovery_ != nullptr && recovery_->gave_up());
}

}  // namespace millrace::pipeline
