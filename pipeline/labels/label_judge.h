// Judges a window of samples by the labels that have come, and hands predictions over.
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
#include "pipeline/labels/label_learner.h"
#include "pipeline/labels/target_loss.h"
#include "pipeline/stages/judge.h"

namespace millrace::pipeline {

/// The form in which outputs are handed over: probabilities, or values.
[[nodiscard]] std::vector<float> OutputsOf(const at::Tensor& row, LabelTask task);

/// The most probable class; -1: values are predicted. REQUIRES: there are outputs.
[[nodiscard]] int BestClassOf(const std::vector<float>& outputs, LabelTask task);

[[nodiscard]] bool AllFinite(std::span<const float> values);

/// How many steps may begin before a step is judged for the last time: what LateLabels must
/// remember.
[[nodiscard]] std::int64_t StepsInFlight(const Phases& phases);

/// How a prediction fared, for those who watch over the weights.
struct LabelScore {
  std::int64_t sample = 0;
  /// Samples of the window that have labels, and those of them that no step learned from before.
  int labelled = 0;
  int fresh = 0;
  /// Whether the outputs and the losses are finite.
  bool finite = true;
  /// The mean losses over these samples; 0 where there are none.
  double loss = 0;
  double fresh_loss = 0;
  /// The loss of outputs that are all zero, as the labels so far have it (TypicalValue): what a
  /// model that does nothing has. The logarithm of the number of classes, or the mean square of the
  /// values.
  double loss_of_zeros = 0;
};

/// Takes the score of a prediction. Returns whether it shows drift.
using OnLabelScore = std::function<bool(const LabelScore&)>;

/// Thread-safe as far as stages call it under a plan. What it is given must outlive it.
class LabelJudge {
 public:
  /// `updates`: those of the last stage, asked at each prediction. `on_score` is called before the
  /// prediction is handed over; may be empty.
  LabelJudge(const LabelLearnerOptions& options, LateLabels& labels,
             OnLabelPrediction on_prediction, std::function<std::int64_t()> updates,
             OnLabelScore on_score = {});

  /// INVALID_ARGUMENT, naming `what`, unless its output for a window can be judged.
  [[nodiscard]] absl::Status CheckFits(const at::Tensor& output, const std::string& what) const;
  /// INVALID_ARGUMENT, saying what is allowed, unless it is a label of the task.
  [[nodiscard]] absl::Status CheckLabel(const SampleLabel& label) const;

  /// By the mean loss over the rows that have labels. Nothing is learned where there are none, and
  /// where a number of the prediction is not finite.
  [[nodiscard]] Judge OfPredictions();
  /// The same of the stages before, which make no predictions.
  [[nodiscard]] Judge OfStages() const;

 private:
  using Labels = std::vector<LateLabels::Labelled>;

  [[nodiscard]] at::Tensor LossOf(const Labels& labels, const at::Tensor& output) const;
  [[nodiscard]] bool Decide(const Judgement& made, const at::Tensor& loss);
  [[nodiscard]] LabelPrediction PredictionOf(const Judgement& made, const Labels& labels) const;
  [[nodiscard]] LabelScore ScoreOf(const Judgement& made, const Labels& labels,
                                   const LabelPrediction& prediction);

  const LabelTask task_;
  const int window_;
  const int outputs_;
  const TargetLoss loss_;
  LateLabels& labels_;
  const OnLabelPrediction on_prediction_;
  const std::function<std::int64_t()> updates_;
  const OnLabelScore on_score_;
  TypicalValue zeros_;  // Of the last stage's thread: losses of zeros.
};

}  // namespace millrace::pipeline
