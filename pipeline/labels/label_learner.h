// A network that predicts, and learns classes or values from labels that a client sends by the
// sample's number: in time, late or never.
//
// Each step processes the window of the last W samples; a new sample takes the row of the oldest
// one. So two steps differ by one row, as schedules that mix neighbouring samples require (PARTIME,
// section V.D). A late label still teaches while its sample is in the window. Free of LibTorch,
// like learner.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/decisions/late_labels.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::pipeline {

/// The model's output for a sample before it has learned from the sample.
struct LabelPrediction {
  /// The number that Admit() returned for the sample.
  std::int64_t sample = 0;
  /// The probability of each class, or the values.
  std::vector<float> outputs = {};
  /// The most probable class; -1 for values.
  int best_class = -1;
  /// The window's samples with labels, from which this step learns. 0: the step does not learn.
  int labelled = 0;
  /// The mean loss over these samples; nullopt without samples.
  std::optional<float> loss = {};
  /// The last stage's update count when its weights made this prediction.
  std::int64_t updates = 0;
  /// Whether the outputs and the loss are finite; otherwise the step does not learn.
  bool finite = true;
  /// Whether this step shows drift: the loss of labels that are new to the model has risen
  /// permanently.
  bool drift = false;
};

/// Called with each prediction, in the order of the samples, on a thread of the learner. Must
/// return quickly. May call LabelLearner::Label(), but no other function of the learner. Such a
/// label counts from the next step on, whatever the timing.
using OnLabelPrediction = std::function<void(const LabelPrediction&)>;

/// A copy of a network at one moment. Not thread-safe.
class LabelModel {
 public:
  virtual ~LabelModel() = default;

  /// The outputs (as in LabelPrediction) for consecutive samples in `values`. REQUIRES: `values`
  /// holds whole samples, at least one.
  [[nodiscard]] virtual std::vector<std::vector<float>> Outputs(
      std::span<const float> values) const = 0;
};

/// Copies of the network while it learns, for scores.
struct LabelCopies {
  /// Calls `on_copy` after every n samples, on a thread of the learner, which waits. 0: never.
  int every = 0;
  /// Called with the network as it was after all stages learned at step `sample`. `model` is
  /// borrowed for the call.
  std::function<void(std::int64_t sample, const LabelModel& model)> on_copy = {};
};

/// "mlp": fully connected layers with ReLUs. "convolutional": 3x3 convolutions with ReLUs, with the
/// size halved twice, then means over space and a fully connected layer.
[[nodiscard]] const std::vector<std::string>& LabelNetworkNames();

/// Learns from samples and labels, and predicts. One thread calls Admit(), AwaitRoom() and Drain().
/// Label(), updates(), figures(), learning(), gave_up() and OperationsSince() are thread-safe.
class LabelLearner {
 public:
  virtual ~LabelLearner() = default;

  /// Takes the next sample, waiting until the first stage has room, and returns its number, which
  /// starts at resumption().first_sample. With a `label`, its first step already learns from it.
  /// INVALID_ARGUMENT if the number of values is wrong, a value is not finite, or the label does
  /// not fit; the sample then gets no number. After a failure of the pipeline, fails with its
  /// cause.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> Admit(
      std::span<const float> values, std::optional<SampleLabel> label = {}) = 0;

  /// Waits until a sample would be admitted at once. Only this function rolls bad weights
  /// back. Fails as Admit().
  virtual absl::Status AwaitRoom() = 0;

  /// Takes the label of a sample. Every step that has not begun and whose window holds the sample
  /// learns from it. NOT_FOUND, OUT_OF_RANGE and ALREADY_EXISTS as LateLabels::Add();
  /// INVALID_ARGUMENT if it is not a label of the task.
  [[nodiscard]] virtual absl::Status Label(std::int64_t sample, SampleLabel label) = 0;

  /// The current network's prediction for one sample, alone in its window; the network does not
  /// learn from it. See Learner::Predict(). INVALID_ARGUMENT as Admit(). REQUIRES: no
  /// LabelCopies. Thread-safe.
  [[nodiscard]] virtual absl::StatusOr<LabelPrediction> Predict(std::span<const float> values) = 0;

  /// Sets the learning rate to `factor` times the configured one from the next updates on; 0
  /// freezes the weights. REQUIRES: LabelTaskOptions::divergence. Thread-safe.
  virtual void ScaleLearningRate(double factor) = 0;
  /// See Learner::AskForCheckpoint(). Thread-safe.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> AskForCheckpoint() = 0;

  /// Runs every operation whose inputs exist, and writes a last checkpoint if checkpoints are on.
  /// No sample can be admitted afterwards. Returns the pipeline's failure, if it failed.
  /// Idempotent.
  virtual absl::Status Drain() = 0;

  /// The current network. REQUIRES: drained.
  [[nodiscard]] virtual const LabelModel& Model() = 0;

  /// Its cuts, and the plan of its first phase. Constant.
  [[nodiscard]] virtual const std::vector<int>& cuts() const = 0;
  [[nodiscard]] virtual const Plan& plan() const = 0;

  /// The number of updates of each stage so far, in order.
  [[nodiscard]] virtual std::vector<std::int64_t> updates() const = 0;

  /// See Learner::worked(). Thread-safe.
  [[nodiscard]] virtual std::vector<StageTime> worked() const = 0;
  [[nodiscard]] virtual LabelFigures figures() const = 0;
  [[nodiscard]] virtual LearningFigures learning() const = 0;
  /// Whether learning is given up (LearningFigures). Cheap enough for each prediction.
  [[nodiscard]] virtual bool gave_up() const = 0;
  /// Constant.
  [[nodiscard]] virtual const Resumption& resumption() const = 0;
  /// See Learner::OperationsSince().
  [[nodiscard]] virtual std::vector<PastOperation> OperationsSince(nanoseconds since) const = 0;
};

/// Builds the network, tries it, cuts it, plans and starts the workers. The same options, samples
/// and labels give the same bits if each label arrives at the same step and no period is given.
/// Fails with INVALID_ARGUMENT or NOT_FOUND. Fails with FAILED_PRECONDITION if the checkpoints
/// belong to another network or task or are in use. The message says what to do. Without cuts, the
/// layers are divided equally. Fails with CANCELLED once `hooks.stop` is requested.
[[nodiscard]] absl::StatusOr<std::unique_ptr<LabelLearner>> MakeLabelLearner(
    const LearnerOptions& options, const LabelTaskOptions& task, OnLabelPrediction on_prediction,
    const LearnerHooks& hooks = {}, LabelCopies copies = {});

}  // namespace millrace::pipeline
