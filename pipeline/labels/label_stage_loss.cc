#include "pipeline/labels/label_stage_loss.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::pipeline {
namespace {

TargetLoss LossFor(LabelTask task) {
  return *TargetLoss::Named(task == LabelTask::kClassification ? "cross_entropy" : "mse");
}

// Copies the values.
template <typename T>
at::Tensor TensorOf(std::vector<T>& values, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(values.data(), sizes, at::TensorOptions(type)).clone();
}

}  // namespace

bool AllFinite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

void SetOutputs(std::vector<float> outputs, LabelTask task, ModelPrediction& prediction) {
  if (task == LabelTask::kClassification) {
    prediction.best_class = static_cast<int>(std::ranges::max_element(outputs) - outputs.begin());
  }
  prediction.finite = AllFinite(outputs) && std::isfinite(prediction.loss);
  prediction.outputs = std::make_shared<const std::vector<float>>(std::move(outputs));
  if (prediction.labelled == 0) {
    prediction.skipped = SkipReason::kUnlabelled;
  } else if (!prediction.finite) {
    prediction.skipped = SkipReason::kNonFinite;
  }
}

std::vector<float> OutputsOf(const at::Tensor& row, LabelTask task) {
  at::Tensor out = row.detach().flatten().to(at::kFloat);
  if (task == LabelTask::kClassification) out = at::softmax(out, 0);
  out = out.contiguous();
  const float* const first = out.const_data_ptr<float>();
  return {first, first + out.numel()};
}

// A sample's slot on its way to the last stage is free after that stage has computed its loss. A
// sample that the stage keeps to compute it again takes one of the stage's own slots.
std::int64_t StepsInFlight(const Phases& phases) {
  std::int64_t max = 0;
  for (const Phase& phase : phases) {
    const int last = phase.plan.stage_count();
    std::int64_t steps = phase.plan.rules(last).slots;
    for (const Channel& channel : phase.plan.channels) {
      if (channel.from == 0 && channel.to == last) steps += channel.slots;
    }
    max = std::max(max, steps);
  }
  return max;
}

absl::Status CheckOutputShape(const LabelTaskOptions& task, const at::Tensor& output,
                              const std::string& what) {
  const int window = task.window;
  const int outputs = task.outputs;
  if (output.sizes() == at::IntArrayRef({window, outputs})) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " makes [", absl::StrJoin(output.sizes(), ", "), "] of a window of ", window,
      " samples; ", outputs, task.task == LabelTask::kClassification ? " classes" : " values",
      " need [", window, ", ", outputs, "]"));
}

LabelWindowLoss::LabelWindowLoss(const LabelTaskOptions& task, LateLabels& labels)
    : task_(task.task),
      window_(task.window),
      outputs_(task.outputs),
      loss_(LossFor(task.task)),
      labels_(labels) {}

at::Tensor LabelWindowLoss::LossOf(const Labels& labels, const at::Tensor& output) const {
  const auto count = static_cast<std::int64_t>(labels.size());
  if (count == 0) return {};
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> classes;
  std::vector<float> values;
  for (const LateLabels::Labelled& labelled : labels) {
    rows.push_back(labelled.sample % window_);
    if (const auto* const number = std::get_if<std::int64_t>(&labelled.label)) {
      classes.push_back(*number);
    } else {
      const auto& own = std::get<std::vector<float>>(labelled.label);
      values.insert(values.end(), own.begin(), own.end());
    }
  }
  const at::Tensor labelled_rows = output.index_select(0, TensorOf(rows, {count}, at::kLong));
  return loss_(labelled_rows, task_ == LabelTask::kClassification
                                  ? TensorOf(classes, {count}, at::kLong)
                                  : TensorOf(values, {count, outputs_}, at::kFloat));
}

LabelPredictionLoss::LabelPredictionLoss(const LabelTaskOptions& task, LateLabels& labels,
                                         OnPrediction on_prediction,
                                         std::function<std::int64_t()> updates,
                                         OnLabelScore on_score)
    : LabelWindowLoss(task, labels),
      on_prediction_(std::move(on_prediction)),
      updates_(std::move(updates)),
      on_score_(std::move(on_score)) {}

bool LabelPredictionLoss::OnPredicted(const StageOutput& output, const LossValue& value) {
  const Labels labels = labels_.Labels(output.sample);
  ModelPrediction prediction =
      PredictionOf(output, static_cast<int>(labels.size()), value.objective);
  if (prediction.skipped == SkipReason::kNone && !labels_.Learns(output.sample)) {
    prediction.skipped = SkipReason::kRate;
  }
  const bool learns = prediction.skipped == SkipReason::kNone;
  if (on_score_) prediction.drift = on_score_(ScoreOf(output, labels, prediction));
  on_prediction_(std::move(prediction));
  return learns;
}

ModelPrediction LabelPredictionLoss::PredictionOf(const StageOutput& output, int labelled,
                                                  const at::Tensor& loss) const {
  ModelPrediction prediction{.sample = output.sample,
                             .flow = nullptr,
                             .labelled = labelled,
                             .loss = loss.defined() ? loss.item<float>() : 0,
                             .updates = updates_()};
  SetOutputs(OutputsOf(output.output[output.sample % window_], task_), task_, prediction);
  return prediction;
}

LabelScore LabelPredictionLoss::ScoreOf(const StageOutput& output, const Labels& labels,
                                        const ModelPrediction& prediction) {
  LabelScore score{.sample = output.sample,
                   .labelled = prediction.labelled,
                   .finite = prediction.finite,
                   .learned = prediction.skipped == SkipReason::kNone,
                   .loss = prediction.loss};
  Labels fresh;
  std::ranges::copy_if(labels, std::back_inserter(fresh), &LateLabels::Labelled::fresh);
  if (!fresh.empty()) {
    const at::Tensor detached = output.output.detach();
    score.fresh = static_cast<int>(fresh.size());
    score.fresh_loss = LossOf(fresh, detached).item<double>();
    zeros_.Add(LossOf(fresh, at::zeros_like(detached)).item<double>());
  }
  score.loss_of_zeros = zeros_.mean();
  return score;
}

}  // namespace millrace::pipeline
