#include "pipeline/labels/label_stream_learner.h"

#include <atomic>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/label_costs.h"
#include "pipeline/labels/label_learner.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/learner/planar_picture.h"
#include "pipeline/learner/rate_factor.h"
#include "pipeline/planner/partition.h"
#include "pipeline/stages/describe_learner.h"

namespace millrace::pipeline {
namespace {

ModelPrediction PredictionOf(const LabelPrediction& made, const LabelStreamOptions& options) {
  ModelPrediction prediction{.sample = made.sample,
                             .width = options.width,
                             .height = options.height,
                             .flow = nullptr,
                             .outputs = std::make_shared<const std::vector<float>>(made.outputs),
                             .best_class = made.best_class,
                             .labelled = made.labelled,
                             .loss = made.loss.value_or(0),
                             .updates = made.updates,
                             .finite = made.finite,
                             .drift = made.drift};
  if (made.labelled == 0) {
    prediction.skipped = SkipReason::kUnlabelled;
  } else if (!made.finite) {
    prediction.skipped = SkipReason::kNonFinite;
  }
  return prediction;
}

class LabelStreamLearner final : public Learner {
 public:
  LabelStreamLearner(LabelStreamOptions options, OnPrediction on_prediction)
      : options_(std::move(options)), on_prediction_(std::move(on_prediction)) {}

  absl::Status Start(const std::vector<LayerProfile>& layers) {
    MILLRACE_ASSIGN_OR_RETURN(learner_,
                              MakeLabelLearner(options_.learner, [this](const LabelPrediction& p) {
                                on_prediction_(Described(p));
                              }));
    const Cuts& cuts = learner_->cuts();
    MILLRACE_ASSIGN_OR_RETURN(const NetworkWithState opened, OpenLabelNetwork(options_.learner));
    MILLRACE_ASSIGN_OR_RETURN(
        LearnerDescription description,
        Describe(
            opened.chain,
            {.cuts = cuts, .plan = learner_->plan(), .costs = StageCosts(CostsOf(layers), cuts)},
            {}));
    description.width = options_.width;
    description.height = options_.height;
    description.labels = {.task = options_.learner.task,
                          .outputs = options_.learner.outputs,
                          .classes = options_.learner.classes,
                          .window = options_.learner.window};
    description_ = std::make_shared<const LearnerDescription>(std::move(description));
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> Admit(const Sample& sample) override {
    MILLRACE_RETURN_IF_ERROR(CheckPicture(sample));
    return learner_->Admit(SampleOf(sample.current, options_.grey), sample.label);
  }

  absl::StatusOr<ModelPrediction> Predict(const Sample& sample) override {
    MILLRACE_RETURN_IF_ERROR(CheckPicture(sample));
    MILLRACE_ASSIGN_OR_RETURN(const LabelPrediction made,
                              learner_->Predict(SampleOf(sample.current, options_.grey)));
    return PredictionOf(made, options_);
  }

  absl::Status AwaitRoom() override { return learner_->AwaitRoom(); }
  absl::Status Label(std::int64_t sample, const SampleLabel& label) override {
    return learner_->Label(sample, label);
  }
  void LearnFromEvery(int /*n*/) override {}  // Labels decide from which steps it learns.

  // A frozen step is like one without labels: its labels are not learned from later.
  void Freeze(bool frozen) override {
    frozen_ = frozen;
    ApplyRate();
  }

  absl::Status SetLearningRate(double rate) override {
    MILLRACE_ASSIGN_OR_RETURN(const double factor, RateFactor(rate, configured_rate()));
    rate_factor_ = factor;
    ApplyRate();
    return absl::OkStatus();
  }
  [[nodiscard]] double learning_rate() const override { return rate_factor_ * configured_rate(); }

  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return learner_->AskForCheckpoint(); }

  absl::Status Drain() override { return learner_->Drain(); }

  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const override {
    return description_;
  }
  [[nodiscard]] std::vector<std::int64_t> updates() const override { return learner_->updates(); }
  [[nodiscard]] std::vector<StageTime> worked() const override { return learner_->worked(); }
  [[nodiscard]] LearningFigures learning() const override { return learner_->learning(); }
  [[nodiscard]] const Resumption& resumption() const override { return learner_->resumption(); }
  [[nodiscard]] std::vector<PastOperation> OperationsSince(nanoseconds since) const override {
    return learner_->OperationsSince(since);
  }

 private:
  [[nodiscard]] absl::Status CheckPicture(const Sample& sample) const {
    const std::size_t bytes = std::size_t{3} * options_.width * options_.height;
    if (sample.current.size() == bytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("a picture of ", sample.current.size(),
                                                   " bytes is not ", options_.width, "x",
                                                   options_.height, " RGB"));
  }

  [[nodiscard]] double configured_rate() const { return options_.learner.optimizer.learning_rate; }
  void ApplyRate() { learner_->ScaleLearningRate(frozen_ ? 0.0 : double{rate_factor_}); }

  [[nodiscard]] ModelPrediction Described(const LabelPrediction& made) const {
    ModelPrediction prediction = PredictionOf(made, options_);
    const bool held = frozen_ || learner_->gave_up();
    if (held && prediction.skipped == SkipReason::kNone) prediction.skipped = SkipReason::kHeld;
    return prediction;
  }

  // Constant after Start(), except their contents.
  const LabelStreamOptions options_;
  const OnPrediction on_prediction_;
  std::shared_ptr<const LearnerDescription> description_;

  // Self-synchronized.
  std::atomic<bool> frozen_ = false;
  std::atomic<double> rate_factor_ = 1;

  std::unique_ptr<LabelLearner> learner_;  // Last: its threads call the members above.
};

}  // namespace

std::vector<float> SampleOf(std::span<const std::uint8_t> rgb, bool grey) {
  return PlanarOf(rgb, grey ? 1 : 3);
}

absl::StatusOr<std::unique_ptr<Learner>> MakeLabelStreamLearner(const LabelStreamOptions& options,
                                                                OnPrediction on_prediction) {
  LabelStreamOptions made = options;
  made.learner.sample_shape = {options.grey ? 1 : 3, options.height, options.width};
  made.learner.stop = options.stop;
  try {
    MILLRACE_ASSIGN_OR_RETURN(const NetworkProfile costs,
                              MeasureLabelNetwork(made.learner, {.stop = options.stop}));
    if (made.learner.cuts.empty()) {
      MILLRACE_ASSIGN_OR_RETURN(made.learner.cuts,
                                BestCuts({.layers = costs.layers, .stages = made.learner.stages}));
    }
    auto learner = std::make_unique<LabelStreamLearner>(std::move(made), std::move(on_prediction));
    MILLRACE_RETURN_IF_ERROR(learner->Start(costs.layers));
    return learner;
  } catch (const std::exception& e) {
    return absl::InternalError(CauseLine(e.what()));
  }
}

}  // namespace millrace::pipeline
