#include "pipeline/offline/label_trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "base/status.h"
#include "pipeline/labels/staged_label_learner.h"

namespace millrace::pipeline {
namespace {

TestScore ScoreOn(const LabelledSamples& test, const LabelModel& model) {
  constexpr std::size_t kAtOnce = 256;
  TestScore score;
  for (std::size_t first = 0; first < test.count(); first += kAtOnce) {
    const std::size_t end = std::min(test.count(), first + kAtOnce);
    std::vector<float> values;
    for (std::size_t i = first; i < end; ++i) {
      const std::vector<float> own = test.values(i);
      values.insert(values.end(), own.begin(), own.end());
    }
    const auto outputs = model.Outputs(values);
    for (std::size_t i = first; i < end; ++i) {
      const std::vector<float>& of_classes = outputs[i - first];
      const auto best = std::ranges::max_element(of_classes) - of_classes.begin();
      if (best == test.labels[i]) score.accuracy += 1;
      score.loss -= std::log(static_cast<double>(of_classes[test.labels[i]]));
    }
  }
  score.accuracy /= static_cast<double>(test.count());
  score.loss /= static_cast<double>(test.count());
  return score;
}

// The order of the samples: each pass has its own random order.
std::vector<std::size_t> OrderOf(std::size_t count, int passes, Random& random) {
  std::vector<std::size_t> order;
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<std::size_t> own(count);
    std::iota(own.begin(), own.end(), std::size_t{0});
    for (std::size_t i = count - 1; i > 0; --i) {
      std::swap(own[i],
                own[static_cast<std::size_t>(random.Uniform(0, static_cast<double>(i + 1)))]);
    }
    order.insert(order.end(), own.begin(), own.end());
  }
  return order;
}

class LabelTrial {
 public:
  LabelTrial(const LabelTrialOptions& options, const Split& data) : options_(options), data_(data) {
    Random random(options.learner.seed);
    order_ = OrderOf(data.train.count(), options.passes, random);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      has_label_.push_back(random.Chance(options.labelled_share));
    }
  }

  absl::StatusOr<LabelTrialResult> Run() {
    const auto start = std::chrono::steady_clock::now();
    MILLRACE_ASSIGN_OR_RETURN(
        learner_, StagedLabelLearner::Make(
                      options_.learner, Task(),
                      [this](const ModelPrediction& made) { OnPrediction(made); }, {}, Copies()));
    for (std::size_t n = 0; n < order_.size(); ++n) {
      std::optional<SampleLabel> label;
      if (options_.label_delay == 0) label = LabelOf(n);
      MILLRACE_RETURN_IF_ERROR(
          learner_->AdmitSample(data_.train.values(order_[n]), std::move(label)).status());
      if (options_.on_sample) options_.on_sample();
    }
    MILLRACE_RETURN_IF_ERROR(learner_->Drain());
    result_.samples = static_cast<std::int64_t>(order_.size());
    result_.test = ScoreOn(data_.test, learner_->Model());
    result_.test.samples = result_.samples;
    result_.prequential_accuracy =
        static_cast<double>(right_) / static_cast<double>(data_.train.count());
    for (const std::int64_t updates : learner_->updates()) result_.updates += updates;
    result_.labels = learner_->figures();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  [[nodiscard]] LabelTaskOptions Task() const {
    LabelTaskOptions task = options_.task;
    task.sample_shape = data_.train.shape;
    task.task = LabelTask::kClassification;
    task.outputs = data_.train.classes;
    return task;
  }

  LabelCopies Copies() {
    return {.every = options_.score_every,
            .on_copy = [this](std::int64_t sample, const LabelModel& model) {
              TestScore score = ScoreOn(data_.test, model);
              score.samples = sample + 1;
              result_.along_the_way.push_back(score);
            }};
  }

  [[nodiscard]] std::optional<SampleLabel> LabelOf(std::size_t n) const {
    if (!has_label_[n]) return std::nullopt;
    return SampleLabel(std::int64_t{data_.train.labels[order_[n]]});
  }

  // On the last stage's thread.
  void OnPrediction(const ModelPrediction& made) {
    const auto n = static_cast<std::size_t>(made.sample);
    if (n < data_.train.count() && made.best_class == data_.train.labels[order_[n]]) ++right_;
    const auto delay = static_cast<std::size_t>(options_.label_delay);
    if (delay == 0 || n + 1 < delay) return;
    const std::size_t due = n + 1 - delay;
    if (auto label = LabelOf(due)) {
      // The trial includes labels that are too late; the result counts them.
      learner_->Label(static_cast<std::int64_t>(due), *std::move(label)).IgnoreError();
    }
  }

  const LabelTrialOptions& options_;
  const Split& data_;
  std::vector<std::size_t> order_;
  std::vector<bool> has_label_;
  std::int64_t right_ = 0;
  LabelTrialResult result_;
  std::unique_ptr<StagedLabelLearner> learner_;  // Last, because its threads use the members above.
};

}  // namespace

absl::StatusOr<LabelTrialResult> RunLabelTrial(const LabelTrialOptions& options,
                                               const Split& data) {
  MILLRACE_CHECK(data.train.count() > 0 && data.test.count() > 0);
  if (options.passes < 1 || options.label_delay < 0 || options.score_every < 0 ||
      !(options.labelled_share >= 0 && options.labelled_share <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.passes, " passes, a label delay of ", options.label_delay, ", a score every ",
        options.score_every, " samples, a share of ", options.labelled_share,
        " with labels: there must be a pass, nothing may be negative, a share is 0 to 1"));
  }
  return LabelTrial(options, data).Run();
}

}  // namespace millrace::pipeline
