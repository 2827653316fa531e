#include "pipeline/labels/label_learner.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/labels/label_stage_loss.h"
#include "pipeline/labels/sample_window.h"
#include "pipeline/nn/network_values.h"
#include "pipeline/planner/partition.h"
#include "pipeline/recovery/lasting_learning.h"
#include "pipeline/recovery/state_collector.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/newest_values.h"

namespace millrace::pipeline {
namespace {

constexpr int kMostWindow = 1 << 20;

std::int64_t NumbersOf(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Consecutive samples in memory as one batch. Borrows `values`.
at::Tensor Batch(std::span<const float> values, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), static_cast<std::int64_t>(values.size()) / NumbersOf(shape));
  // No code writes to it.
  return at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions(at::kFloat));
}

// A second network with the same layers, which receives copies and answers requests.
class CopiedModel final : public LabelModel {
 public:
  CopiedModel(LayerChain chain, const LabelLearnerOptions& options)
      : chain_(std::move(chain)),
        whole_(WholeChain(chain_)),
        shape_(options.sample_shape),
        task_(options.task),
        seed_(options.seed) {}

  void Take(const std::vector<LayerState>& layers) { PutValues(layers, chain_); }
  [[nodiscard]] const LayerChain& chain() const { return chain_; }

  [[nodiscard]] std::vector<std::vector<float>> Outputs(
      std::span<const float> values) const override {
    const at::NoGradGuard no_graph;
    const at::Tensor made = whole_.Forward({Batch(values, shape_)}, seed_)[0];
    std::vector<std::vector<float>> outputs;
    for (std::int64_t row = 0; row < made.size(0); ++row) {
      outputs.push_back(OutputsOf(made[row], task_));
    }
    return outputs;
  }

 private:
  const LayerChain chain_;
  const Stage whole_;
  const std::vector<std::int64_t> shape_;
  const LabelTask task_;
  const std::uint64_t seed_;
};

class StagedLabelLearner final : public LabelLearner {
 public:
  struct Networks {
    LayerChain learning;
    LayerChain copied;
    Cuts cuts;
  };

  StagedLabelLearner(const LabelLearnerOptions& options, Networks networks)
      : options_(options),
        chain_(std::move(networks.learning)),
        cuts_(std::move(networks.cuts)),
        window_(options.window),
        copied_(std::move(networks.copied), options),
        newest_(copied_.chain(), options.threads_per_stage) {}

  absl::Status Start(OnLabelPrediction on_prediction) {
    if (options_.safety) {
      MILLRACE_ASSIGN_OR_RETURN(lasting_, LastingLearning::Open(LastingOptions(), chain_));
    }
    admitted_ = resumption().first_sample;
    window_ = SampleWindow(options_.window, admitted_);
    const std::vector<float> zeros(NumbersOf(options_.sample_shape), 0.0F);
    const at::Tensor first =
        SampleWindow(options_.window).Add(Batch(zeros, options_.sample_shape)[0]);
    const FirstInput input{.chain = chain_, .cuts = cuts_, .input = first, .seed = options_.seed};
    MILLRACE_ASSIGN_OR_RETURN(
        Phases phases, PlanStages(input, options_.schedule, options_.request,
                                  [](const at::Tensor& output) { return output.square().mean(); }));
    phases = PhasesFrom(std::move(phases), admitted_);
    labels_ = std::make_unique<LateLabels>(LateLabels::Options{
        .window = options_.window, .in_flight = StepsInFlight(phases), .first = admitted_});
    if (options_.stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
    MILLRACE_RETURN_IF_ERROR(TryStages(input, options_.schedule,
                                       [this](const at::Tensor& output, const std::string& what) {
                                         return CheckOutputShape(options_, output, what);
                                       }));
    if (options_.stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
    if (options_.copy_every > 0) {
      copies_ =
          std::make_unique<StateCollector>(options_.copy_every, [this](const NetworkState& state) {
            copied_.Take(state.layers);
            options_.on_copy(state.sample, copied_);
          });
    }
    return StartRun(std::move(phases), std::move(on_prediction));
  }

  absl::StatusOr<std::int64_t> Admit(std::span<const float> values,
                                     std::optional<SampleLabel> label) override {
    MILLRACE_RETURN_IF_ERROR(CheckValues(values));
    if (label) MILLRACE_RETURN_IF_ERROR(CheckLabel(*label, options_.task, options_.outputs));
    MILLRACE_RETURN_IF_ERROR(failure_);
    labels_->Admit(admitted_, std::move(label));
    absl::StatusOr<std::int64_t> number =
        run_->Admit(window_.Add(Batch(values, options_.sample_shape)[0]));
    failure_ = number.status();
    MILLRACE_CHECK(!number.ok() || *number == admitted_);
    ++admitted_;
    return number;
  }

  absl::Status Label(std::int64_t sample, SampleLabel label) override {
    MILLRACE_RETURN_IF_ERROR(CheckLabel(label, options_.task, options_.outputs));
    return labels_->Add(sample, std::move(label));
  }

  absl::Status AwaitRoom() override {
    MILLRACE_RETURN_IF_ERROR(failure_);
    if (lasting_ != nullptr && lasting_->safe().RollBackIsDue()) {
      // The weights have diverged: finishes all steps and restores good weights before the next
      // sample.
      MILLRACE_RETURN_IF_ERROR(run_->Pause([this](StagedNetwork& network) {
        if (copies_ != nullptr) copies_->Restart();
        lasting_->safe().RollBack(network);
        labels_->GiveUp();  // One of the labels may be the cause.
      }));
    }
    return run_->AwaitRoom();
  }

  absl::StatusOr<LabelPrediction> Predict(std::span<const float> values) override {
    MILLRACE_CHECK(copies_ == nullptr);
    MILLRACE_RETURN_IF_ERROR(CheckValues(values));
    LabelPrediction made{.sample = -1};
    try {
      newest_.Ask(run_->network(), [&](std::int64_t updates) {
        made.outputs = std::move(copied_.Outputs(values).front());
        made.updates = updates;
      });
    } catch (const std::exception& e) {
      return absl::InternalError(CauseLine(e.what()));
    }
    made.finite = AllFinite(made.outputs);
    made.best_class = BestClassOf(made.outputs, options_.task);
    return made;
  }

  void ScaleLearningRate(double factor) override {
    MILLRACE_CHECK(lasting_ != nullptr);
    lasting_->safe().SetRateFactor(factor, run_->network());
  }

  absl::StatusOr<std::int64_t> AskForCheckpoint() override {
    MILLRACE_CHECK(lasting_ != nullptr);
    return lasting_->AskForCheckpoint();
  }

  absl::Status Drain() override {
    absl::Status drained = run_->Drain();
    if (lasting_ != nullptr) lasting_->Finish(drained.ok());
    return drained;
  }

  [[nodiscard]] const LabelModel& Model() override {
    newest_.Put(run_->network().Save());
    return copied_;
  }

  [[nodiscard]] const std::vector<int>& cuts() const override { return cuts_; }
  [[nodiscard]] const Plan& plan() const override { return plan_; }
  [[nodiscard]] std::vector<std::int64_t> updates() const override {
    return run_->network().updates();
  }
  [[nodiscard]] std::vector<StageTime> worked() const override { return run_->network().worked(); }
  [[nodiscard]] LabelFigures figures() const override { return labels_->figures(); }
  [[nodiscard]] LearningFigures learning() const override {
    if (lasting_ != nullptr) return lasting_->figures();
    LearningFigures figures;
    figures.gradients_not_finite = run_->network().gradients_not_finite();
    return figures;
  }
  [[nodiscard]] bool gave_up() const override {
    return lasting_ != nullptr && lasting_->safe().gave_up();
  }
  [[nodiscard]] const Resumption& resumption() const override {
    static const Resumption anew;
    return lasting_ != nullptr ? lasting_->resumption() : anew;
  }
  [[nodiscard]] std::vector<PastOperation> OperationsSince(nanoseconds since) const override {
    return run_->history().Since(since);
  }

 private:
  [[nodiscard]] absl::Status CheckValues(std::span<const float> values) const {
    const auto numbers = static_cast<std::size_t>(NumbersOf(options_.sample_shape));
    if (values.size() != numbers) {
      return absl::InvalidArgumentError(
          absl::StrCat("a sample of ", values.size(), " numbers; the model reads ", numbers));
    }
    if (!AllFinite(values)) {
      return absl::InvalidArgumentError("a number of the sample is not finite");
    }
    return absl::OkStatus();
  }

  [[nodiscard]] StagedNetwork::Options NetworkOptions(const Plan& plan,
                                                      OnLabelPrediction on_prediction) {
    auto loss = std::make_unique<LabelPredictionLoss>(
        options_, *labels_, std::move(on_prediction),
        [this] { return run_->network().updates().back(); }, ScoreTaker());
    StagedNetwork::Options network{
        .chain = chain_,
        .cuts = cuts_,
        .plan = plan,
        .first_sample = admitted_,
        .loss = std::move(loss),
        .local_loss = std::make_unique<LabelWindowLoss>(options_, *labels_),
        .optimizer = options_.optimizer,
        .seed = options_.seed};
    if (copies_ != nullptr || lasting_ != nullptr) {
      network.on_update = [this](const Step& update) {
        const StagedNetwork& at_work = run_->network();
        if (copies_ != nullptr) copies_->OnUpdate(at_work, update);
        if (lasting_ != nullptr) lasting_->safe().OnUpdate(at_work, update);
      };
    }
    return network;
  }

  absl::Status StartRun(Phases phases, OnLabelPrediction on_prediction) {
    plan_ = phases.front().plan;
    StagedNetwork::Options network = NetworkOptions(plan_, std::move(on_prediction));
    MILLRACE_ASSIGN_OR_RETURN(run_,
                              NetworkRun::Start({.network = std::move(network),
                                                 .phases = std::move(phases),
                                                 .threads_per_stage = options_.threads_per_stage,
                                                 .on_switch = [this] {
                                                   if (lasting_ != nullptr)
                                                     lasting_->safe().OnSwitch();
                                                 }}));
    if (lasting_ != nullptr) lasting_->Begin(run_->network());
    return absl::OkStatus();
  }

  [[nodiscard]] LastingLearning::Options LastingOptions() {
    return {.divergence = options_.safety->divergence,
            .copy_every = options_.safety->copy_every,
            .checkpoints = options_.safety->checkpoints,
            .task = TaskInWords(options_),
            .seed = options_.seed};
  }

  // Reports each prediction to the safety of the weights; empty without it. A step without labels
  // says nothing about the weights, unless its outputs are not finite.
  [[nodiscard]] OnLabelScore ScoreTaker() {
    if (lasting_ == nullptr) return {};
    return [this](const LabelScore& score) {
      SafeLearning& safe = lasting_->safe();
      if (score.labelled > 0) {
        static_cast<void>(safe.health().Next({.sample = score.sample,
                                              .finite = score.finite,
                                              .loss = score.loss,
                                              .loss_no_motion = score.loss_of_zeros}));
      } else {
        safe.health().Glimpse(score.finite);
      }
      SafeLearning::Judged judged{.sample = score.sample,
                                  .learned = score.labelled > 0 && score.finite};
      // Bounded, because losses that are far off must not hide behind their own spread.
      if (score.fresh > 0 && score.finite) {
        judged.ratio = score.fresh_loss / (score.fresh_loss + score.loss_of_zeros);
      }
      return safe.OnJudged(judged, run_->network());
    };
  }

  // Constant after Start(), except their contents.
  const LabelLearnerOptions options_;
  const LayerChain chain_;
  const Cuts cuts_;
  Plan plan_;
  std::unique_ptr<LateLabels> labels_;
  std::unique_ptr<LastingLearning> lasting_;  // Null: diverged weights are not restored.
  std::unique_ptr<StateCollector> copies_;    // Null: copies are off.

  // For the admitting thread.
  SampleWindow window_;
  std::int64_t admitted_ = 0;
  absl::Status failure_;

  // For the stage that completes a copy: no later copy is complete before that stage continues. If
  // copies are off, newest_ guards its values.
  CopiedModel copied_;
  NewestValues newest_;

  std::unique_ptr<NetworkRun> run_;  // Last: its workers use the members above.
};

absl::Status CheckSafety(const LabelSafety& safety) {
  const CheckpointOptions& checkpoints = safety.checkpoints;
  if (safety.copy_every >= 1 && safety.divergence.window >= 1 && checkpoints.every >= 1 &&
      checkpoints.keep >= 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "copy_every, divergence.window, checkpoints.every and checkpoints.keep must be at least 1");
}

absl::Status CheckOptions(const LabelLearnerOptions& options) {
  if (options.safety) MILLRACE_RETURN_IF_ERROR(CheckSafety(*options.safety));
  MILLRACE_RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  if (options.window < 1 || options.window > kMostWindow) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window of ", options.window, " samples; it must be 1 to ", kMostWindow));
  }
  if (options.outputs < (options.task == LabelTask::kClassification ? 2 : 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.outputs, " outputs; there must be 2 classes or 1 value at least"));
  }
  if (options.threads_per_stage < 1) {
    return absl::InvalidArgumentError("a stage needs at least one thread");
  }
  if (options.sample_shape.empty() ||
      std::any_of(options.sample_shape.begin(), options.sample_shape.end(),
                  [](std::int64_t size) { return size < 1 || size > (1 << 24); })) {
    return absl::InvalidArgumentError("the shape of a sample needs positive sizes");
  }
  return absl::OkStatus();
}

absl::StatusOr<Cuts> CutsOf(const LabelLearnerOptions& options, int layers) {
  if (!options.cuts.empty()) {
    MILLRACE_RETURN_IF_ERROR(CheckCuts(options.cuts, layers));
    return options.cuts;
  }
  return BestCuts(std::vector<StageCost>(layers, {.forward = 1, .backward = 2}), options.stages);
}

}  // namespace

absl::StatusOr<LabelTask> LabelTaskNamed(std::string_view name) {
  if (name == "classification") return LabelTask::kClassification;
  if (name == "regression") return LabelTask::kRegression;
  return absl::InvalidArgumentError(absl::StrCat("there is no task \"", std::string(name),
                                                 "\"; use one of: classification, regression"));
}

absl::StatusOr<std::unique_ptr<LabelLearner>> MakeLabelLearner(const LabelLearnerOptions& options,
                                                               OnLabelPrediction on_prediction) {
  MILLRACE_RETURN_IF_ERROR(CheckOptions(options));
  at::set_num_threads(options.threads_per_stage);
  try {
    StagedLabelLearner::Networks networks;
    MILLRACE_ASSIGN_OR_RETURN(NetworkWithState learning, OpenLabelNetwork(options));
    MILLRACE_ASSIGN_OR_RETURN(NetworkWithState copied, OpenLabelNetwork(options));
    networks.learning = std::move(learning.chain);
    networks.copied = std::move(copied.chain);
    MILLRACE_ASSIGN_OR_RETURN(networks.cuts,
                              CutsOf(options, static_cast<int>(networks.learning.layers.size())));
    auto learner = std::make_unique<StagedLabelLearner>(options, std::move(networks));
    MILLRACE_RETURN_IF_ERROR(learner->Start(std::move(on_prediction)));
    return learner;
  } catch (const std::exception& e) {
    return absl::InternalError(CauseLine(e.what()));
  }
}

}  // namespace millrace::pipeline
