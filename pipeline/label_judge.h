// Judges a window of samples by the labels that have come, and hands predictions over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "pipeline/judge.h"
#include "pipeline/label_learner.h"
#include "pipeline/learning/late_labels.h"
#include "pipeline/target_loss.h"

namespace millrace::pipeline {

/// The form in which outputs are handed over: probabilities, or values.
[[nodiscard]] std::vector<float> OutputsOf(const at::Tensor& row, LabelTask task);

/// How many steps may begin before a step is judged for the last time: what LateLabels must
/// remember.
[[nodiscard]] std::int64_t StepsInFlight(const Phases& phases);

/// Thread-safe as far as stages call it under a plan. What it is given must outlive it.
class LabelJudge {
 public:
  /// `updates`: those of the last stage, asked at each prediction.
  LabelJudge(const LabelLearnerOptions& options, LateLabels& labels,
             OnLabelPrediction on_prediction, std::function<std::int64_t()> updates);

  /// INVALID_ARGUMENT, naming `what`, unless its output for a window can be judged.
  [[nodiscard]] absl::Status CheckFits(const at::Tensor& output, const std::string& what) const;
  /// INVALID_ARGUMENT, saying what is allowed, unless it is a label of the task.
  [[nodiscard]] absl::Status CheckLabel(const SampleLabel& label) const;

  /// What Judge (judge.h) is: the mean loss over the rows that have labels; none, and undefined.
  [[nodiscard]] at::Tensor Judge(const Judgement& made) const;
  /// The same of another stage's output at `step`, without a prediction.
  [[nodiscard]] at::Tensor LossOf(std::int64_t step, const at::Tensor& output) const;

 private:
  [[nodiscard]] at::Tensor LossOf(const std::vector<LateLabels::Labelled>& labels,
                                  const at::Tensor& output) const;

  const LabelTask task_;
  const int window_;
  const int outputs_;
  const TargetLoss loss_;
  LateLabels& labels_;
  const OnLabelPrediction on_prediction_;
  const std::function<std::int64_t()> updates_;
};

}  // namespace millrace::pipeline
