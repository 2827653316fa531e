// A learner of known behaviour: it predicts when the test says so, or at once on a thread of its
// own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/decisions/late_labels.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/rate_factor.h"

namespace millrace::service {

/// Holds up to `capacity` samples. Its flow for sample n is n everywhere, its loss 1 / (n + 1), its
/// loss of no motion 2 / (n + 1). Thread-safe.
class FakeLearner final : public pipeline::Learner {
 public:
  enum class Predicts { kWhenTold, kAtOnce };

  struct Options {
    int width = 4;
    int height = 2;
    int capacity = 64;
    Predicts predicts = Predicts::kWhenTold;
    /// It learns from labels: the outputs of sample n are n, n, n ..., its best class is n modulo
    /// the classes.
    std::optional<pipeline::LabelledTask> labels = {};
    /// As configured.
    double learning_rate = 1e-4;
    pipeline::Resumption resumption = {};
  };

  FakeLearner(const Options& options, pipeline::OnPrediction on_prediction)
      : rate(options.learning_rate), options_(options), on_prediction_(std::move(on_prediction)) {
    description_.schedule = "one_f_one_b_star";
    description_.width = options.width;
    description_.height = options.height;
    description_.stages = {{.layers = {"features", "level 1"},
                            .device = "cpu:0",
                            .forward_ms = 20,
                            .backward_ms = 40,
                            .update_ms = 1,
                            .staleness = 1,
                            .mismatch = 0},
                           {.layers = {"level 2"}, .device = "cpu:1", .forward_ms = 25}};
    description_.samples_per_second = 16;
    description_.sequential_samples_per_second = 9;
    description_.delay_ms = 45;
    description_.labels = options.labels;
    if (options.labels) labels_.emplace(pipeline::LateLabels::Options{options.labels->window, 0});
    if (options.predicts == Predicts::kAtOnce) worker_ = std::jthread([this] { Work(); });
  }

  ~FakeLearner() override {
    std::scoped_lock lock(mu_);
    closed_ = true;
    changed_.notify_all();
  }

  absl::StatusOr<std::int64_t> Admit(const pipeline::Sample& sample) override {
    std::unique_lock lock(mu_);
    if (!interruption_.ok()) return interruption_;
    bytes_before = sample.before.size();
    changed_.wait(lock, [this] { return Held() < options_.capacity || !failure_.ok(); });
    if (!failure_.ok()) return failure_;
    changed_.notify_all();
    if (labels_) labels_->Admit(admitted_, sample.label);
    return admitted_++;
  }

  absl::Status AwaitRoom() override {
    std::unique_lock lock(mu_);
    if (std::exchange(is_resumed_, false)) interruption_ = absl::OkStatus();
    if (!interruption_.ok()) {
      ++refusals_;
      changed_.notify_all();
      return interruption_;
    }
    changed_.wait(lock, [this] { return Held() < options_.capacity || !failure_.ok() || closed_; });
    return failure_;
  }
  absl::Status Label(std::int64_t sample, const pipeline::SampleLabel& label) override {
    if (!labels_) return Learner::Label(sample, label);
    std::function<void()> at_labels;
    {
      std::scoped_lock lock(mu_);
      at_labels = at_labels_;
    }
    if (at_labels) at_labels();
    return labels_->Add(sample, label);
  }
  /// As of the sample that has the newest picture's first byte for its number.
  absl::StatusOr<pipeline::ModelPrediction> Predict(const pipeline::Sample& sample) override {
    std::function<void()> at_questions;
    {
      std::scoped_lock lock(mu_);
      at_questions = at_questions_;
    }
    if (at_questions) at_questions();
    std::scoped_lock lock(mu_);
    bytes_before = sample.before.size();
    pipeline::ModelPrediction prediction = PredictionOf(sample.current.front());
    prediction.sample = -1;
    prediction.labelled = 0;
    prediction.skipped = pipeline::SkipReason::kHeld;
    return prediction;
  }
  void LearnFromEvery(int n) override { learn_from_every = n; }
  void FollowRate(double frames_per_second) override {
    rates_followed.push_back(frames_per_second);
  }
  void Freeze(bool now) override { frozen = now; }
  absl::Status SetLearningRate(double now) override {
    absl::Status checked = pipeline::RateFactor(now, options_.learning_rate).status();
    if (!checked.ok()) return checked;
    rate = now;
    std::scoped_lock lock(mu_);
    if (learning_.rate_scale == 0) learning_.rate_scale = 1;
    return checked;
  }
  double learning_rate() const override { return rate; }
  /// Refuses one that keeps something else of each weight than RMSprop.
  absl::Status SetOptimizer(const pipeline::OptimizerOptions& changed) override {
    if (pipeline::OptimizerStateTensors(changed) != 1) {
      return absl::FailedPreconditionError("it cannot continue from the state of RMSprop");
    }
    std::scoped_lock lock(mu_);
    optimizer_ = changed;
    ++optimizers_set;
    return absl::OkStatus();
  }
  pipeline::OptimizerOptions optimizer() const {
    std::scoped_lock lock(mu_);
    return optimizer_;
  }
  absl::Status SetPolicy(const pipeline::UpdatePolicyOptions& policy) override {
    if (labels_) return Learner::SetPolicy(policy);
    absl::Status checked = pipeline::CheckUpdatePolicy(policy);
    if (checked.ok()) every = policy.every;
    return checked;
  }
  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return ++checkpoints_asked_for; }

  /// Of the newest sample's picture before the two.
  std::atomic<std::size_t> bytes_before = 0;

  absl::Status Drain() override {
    std::function<void()> at_end;
    {
      std::scoped_lock lock(mu_);
      at_end = at_end_;
    }
    if (at_end) at_end();
    if (options_.predicts == Predicts::kWhenTold) {
      while (PredictOne()) {
      }
    }
    std::unique_lock lock(mu_);
    closed_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !emitting_ && (Waiting() == 0 || !failure_.ok()); });
    return failure_;
  }

  std::shared_ptr<const pipeline::LearnerDescription> description() const override {
    std::function<void()> at_descriptions;
    {
      std::scoped_lock lock(mu_);
      at_descriptions = at_descriptions_;
    }
    if (at_descriptions) at_descriptions();
    std::scoped_lock lock(mu_);
    return std::make_shared<const pipeline::LearnerDescription>(description_);
  }

  /// Changes what description() returns: `change` gets it by reference.
  template <typename Change>
  void Describe(const Change& change) {
    std::scoped_lock lock(mu_);
    change(description_);
  }

  std::atomic<int> learn_from_every = 1;
  /// For the thread that admits samples.
  std::vector<double> rates_followed;
  std::atomic<bool> frozen = false;
  std::atomic<double> rate;
  std::atomic<int> every = 1;
  std::atomic<int> checkpoints_asked_for = 0;
  std::atomic<int> optimizers_set = 0;

  pipeline::LearningFigures learning() const override {
    std::scoped_lock lock(mu_);
    return learning_;
  }
  absl::Status interruption() const override {
    std::scoped_lock lock(mu_);
    return interruption_;
  }
  std::optional<pipeline::RankFigures> ranks() const override {
    std::scoped_lock lock(mu_);
    return ranks_;
  }

  /// What ranks() returns from now on.
  void SetRanks(const pipeline::RankFigures& ranks) {
    std::scoped_lock lock(mu_);
    ranks_ = ranks;
  }
  /// Samples under way get no prediction, and it takes none until Resume(). REQUIRES: kWhenTold.
  void Interrupt(absl::Status cause) {
    std::scoped_lock lock(mu_);
    interruption_ = std::move(cause);
    predicted_ = admitted_;
  }
  void Resume() {
    std::scoped_lock lock(mu_);
    is_resumed_ = true;
  }

  const pipeline::Resumption& resumption() const override { return options_.resumption; }

  std::vector<pipeline::StageTime> worked() const override {
    std::scoped_lock lock(mu_);
    return worked_;
  }

  /// What worked() returns from now on.
  void SetWorked(std::vector<pipeline::StageTime> worked) {
    std::scoped_lock lock(mu_);
    worked_ = std::move(worked);
  }

  /// What learning() returns from now on.
  void SetLearning(const pipeline::LearningFigures& learning) {
    std::scoped_lock lock(mu_);
    learning_ = learning;
  }

  std::vector<std::int64_t> updates() const override {
    std::scoped_lock lock(mu_);
    return {predicted_, predicted_};
  }

  /// Waits for `samples` to be admitted, and predicts them; Drain(), which predicts what is left,
  /// may have done so before. REQUIRES: kWhenTold.
  void Predict(int samples = 1) {
    for (int i = 0; i < samples; ++i) {
      {
        std::unique_lock lock(mu_);
        changed_.wait(lock, [this] { return Waiting() > 0 || closed_; });
      }
      PredictOne();
    }
  }

  /// Waits until `samples` in all have been admitted.
  void WaitForAdmitted(std::int64_t samples) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return admitted_ >= samples; });
  }

  /// Waits until it was asked for room `times` in all while it was interrupted.
  void WaitForRefusals(int times) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return refusals_ >= times; });
  }

  /// From now on it takes no sample and predicts nothing.
  void Fail(absl::Status cause) {
    std::scoped_lock lock(mu_);
    failure_ = std::move(cause);
    changed_.notify_all();
  }

  /// Called at each Predict() of a sample that is not the stream's.
  void AtQuestions(std::function<void()> call) {
    std::scoped_lock lock(mu_);
    at_questions_ = std::move(call);
  }

  /// Called at each Label(), before it is taken. REQUIRES: it learns from labels.
  void AtLabels(std::function<void()> call) {
    std::scoped_lock lock(mu_);
    at_labels_ = std::move(call);
  }

  /// Called whenever it is asked what it is, on any thread: the server's, too, which looks at it
  /// now and then.
  void AtDescriptions(std::function<void()> call) {
    std::scoped_lock lock(mu_);
    at_descriptions_ = std::move(call);
  }

  /// Called when the stream ends, before the last predictions: what a last checkpoint does is done
  /// here.
  void AtEnd(std::function<void()> call) {
    std::scoped_lock lock(mu_);
    at_end_ = std::move(call);
  }

  /// Changes the next predictions: `change` gets each by reference, instead of any `change` before.
  /// It must not call the learner.
  void ChangePredictions(std::function<void(pipeline::ModelPrediction&)> change) {
    std::scoped_lock lock(mu_);
    change_ = std::move(change);
  }

  /// The next predictions are not finite.
  void PredictNonFinite() {
    ChangePredictions([](pipeline::ModelPrediction& prediction) {
      prediction.loss = std::numeric_limits<float>::quiet_NaN();
      prediction.finite = false;
      prediction.skipped = pipeline::SkipReason::kNonFinite;
    });
  }

 private:
  std::int64_t Held() const { return admitted_ - predicted_; }
  std::int64_t Waiting() const { return Held() - (emitting_ ? 1 : 0); }

  // Emits outside the lock; `emitting_` keeps the order.
  bool PredictOne() {
    pipeline::ModelPrediction prediction;
    {
      std::unique_lock lock(mu_);
      changed_.wait(lock, [this] { return !emitting_; });
      if (Waiting() == 0 || !failure_.ok()) return false;
      prediction = PredictionOf(predicted_);
      emitting_ = true;
    }
    on_prediction_(std::move(prediction));
    std::scoped_lock lock(mu_);
    emitting_ = false;
    ++predicted_;
    changed_.notify_all();
    return true;
  }

  pipeline::ModelPrediction PredictionOf(std::int64_t sample) const {
    const std::size_t values = std::size_t{2} * options_.width * options_.height;
    const auto nth = static_cast<float>(sample + 1);
    pipeline::ModelPrediction prediction = {
        .sample = sample,
        .width = options_.width,
        .height = options_.height,
        .flow = std::make_shared<const std::vector<float>>(values, static_cast<float>(sample)),
        .loss = 1 / nth,
        .loss_no_motion = 2 / nth,
        .updates = sample};
    if (labels_) PredictLabel(prediction);
    if (change_) change_(prediction);
    return prediction;
  }

  void PredictLabel(pipeline::ModelPrediction& prediction) const {
    const pipeline::LabelledTask& task = *options_.labels;
    prediction.flow = nullptr;
    prediction.loss_no_motion = 0;
    prediction.outputs = std::make_shared<const std::vector<float>>(
        task.outputs, static_cast<float>(prediction.sample));
    if (task.task == pipeline::LabelTask::kClassification) {
      prediction.best_class = static_cast<int>(prediction.sample % task.outputs);
    }
    if (prediction.sample >= admitted_) return;
    prediction.labelled = static_cast<int>(labels_->Labels(prediction.sample).size());
  }

  void Work() {
    for (;;) {
      {
        std::unique_lock lock(mu_);
        changed_.wait(lock, [this] { return Waiting() > 0 || closed_ || !failure_.ok(); });
      }
      if (!PredictOne()) return;
    }
  }

  const Options options_;
  const pipeline::OnPrediction on_prediction_;

  // Self-synchronized.
  mutable std::optional<pipeline::LateLabels> labels_;

  mutable std::mutex mu_;
  pipeline::LearnerDescription description_;
  std::vector<pipeline::StageTime> worked_;
  std::optional<pipeline::RankFigures> ranks_;
  absl::Status interruption_;
  bool is_resumed_ = false;
  int refusals_ = 0;
  pipeline::OptimizerOptions optimizer_;
  pipeline::LearningFigures learning_;
  std::function<void(pipeline::ModelPrediction&)> change_;
  std::function<void()> at_questions_;
  std::function<void()> at_labels_;
  std::function<void()> at_descriptions_;
  std::function<void()> at_end_;
  std::condition_variable changed_;
  std::int64_t admitted_ = 0;
  std::int64_t predicted_ = 0;
  bool emitting_ = false;
  bool closed_ = false;
  absl::Status failure_;

  std::jthread worker_;
};

}  // namespace millrace::service
