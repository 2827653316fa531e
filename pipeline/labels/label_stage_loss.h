// The loss of a window of samples, by the labels that have arrived so far.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "pipeline/decisions/late_labels.h"
#include "pipeline/decisions/typical_value.h"
#include "pipeline/labels/target_loss.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/stages/loss.h"

namespace millrace::pipeline {

/// The published form of outputs: probabilities, or values.
[[nodiscard]] std::vector<float> OutputsOf(const at::Tensor& row, LabelTask task);

/// Sets the outputs of `prediction`. Derives the best class, whether it is finite, and why its step
/// cannot learn, from these outputs, its `labelled` and its `loss`. REQUIRES: `outputs` is not
/// empty.
void SetOutputs(std::vector<float> outputs, LabelTask task, ModelPrediction& prediction);

[[nodiscard]] bool AllFinite(std::span<const float> values);

/// The maximum number of steps between a step's begin and its last loss. LateLabels must
/// remember this number of steps.
[[nodiscard]] std::int64_t StepsInFlight(const Phases& phases);

/// The score of a prediction, for the safety of the weights.
struct LabelScore {
  std::int64_t sample = 0;
  /// The window's samples with labels, and those of them that no earlier step learned from.
  int labelled = 0;
  int fresh = 0;
  /// Whether the outputs and the losses are finite.
  bool finite = true;
  /// Whether the step learns.
  bool learned = false;
  /// The mean losses over these samples; 0 without samples.
  double loss = 0;
  double fresh_loss = 0;
  /// The loss of a model that outputs zeros, for the labels so far (TypicalValue). It is the
  /// logarithm of the number of classes, or the mean square of the values.
  double loss_of_zeros = 0;
};

/// Receives the score of a prediction. Returns whether it shows drift.
using OnLabelScore = std::function<bool(const LabelScore&)>;

/// INVALID_ARGUMENT, naming `what`, unless `output` has a row of outputs for each sample of a
/// window.
[[nodiscard]] absl::Status CheckOutputShape(const LabelTaskOptions& task, const at::Tensor& output,
                                            const std::string& what);

/// The mean loss over the window's rows with labels: undefined if no row has one. Thread-safe for
/// the calls that stages make under a plan.
class LabelWindowLoss : public Loss {
 public:
  /// `labels` must outlive it.
  LabelWindowLoss(const LabelTaskOptions& task, LateLabels& labels);

  [[nodiscard]] bool MayLearn(std::int64_t sample) override {
    return !labels_.Labels(sample).empty() && labels_.Learns(sample);
  }
  [[nodiscard]] LossValue Compute(const StageOutput& output) override {
    return {.objective = LossOf(labels_.Labels(output.sample), output.output)};
  }

 protected:
  using Labels = std::vector<LateLabels::Labelled>;

  [[nodiscard]] at::Tensor LossOf(const Labels& labels, const at::Tensor& output) const;

  const LabelTask task_;
  const int window_;
  const int outputs_;
  const TargetLoss loss_;
  LateLabels& labels_;
};

/// The same for the last stage, which publishes a prediction for every step. It does not learn if a
/// value of the prediction is not finite.
class LabelPredictionLoss final : public LabelWindowLoss {
 public:
  /// `updates`: the last stage's update count, read at each prediction. `on_score` is called before
  /// the prediction is published; may be empty.
  LabelPredictionLoss(const LabelTaskOptions& task, LateLabels& labels, OnPrediction on_prediction,
                      std::function<std::int64_t()> updates, OnLabelScore on_score = {});

  [[nodiscard]] bool MayLearn(std::int64_t /*sample*/) override { return true; }
  [[nodiscard]] bool OnPredicted(const StageOutput& output, const LossValue& value) override;

 private:
  [[nodiscard]] ModelPrediction PredictionOf(const StageOutput& output, int labelled,
                                             const at::Tensor& loss) const;
  [[nodiscard]] LabelScore ScoreOf(const StageOutput& output, const Labels& labels,
                                   const ModelPrediction& prediction);

  const OnPrediction on_prediction_;
  const std::function<std::int64_t()> updates_;
  const OnLabelScore on_score_;
  TypicalValue zeros_;  // Losses of zeros.
};

}  // namespace millrace::pipeline
