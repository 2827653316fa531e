// A network that learns classes or values from labels that a client sends, by the number of the
// sample, while it predicts: in time, late or never.
//
// What goes through the pipeline at each step is the window of the last W samples: the new one
// takes the row of the oldest. So each step differs from the one before by one row, which is what
// schedules that mix neighbouring samples count on (PARTIME, section V.D), and a label that comes
// late still teaches while its sample is in the window. Free of LibTorch, like learner.h.
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
#include "pipeline/learner/label_learner_options.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::pipeline {

/// "classification" or "regression". INVALID_ARGUMENT naming them if it is neither.
[[nodiscard]] absl::StatusOr<LabelTask> LabelTaskNamed(std::string_view name);

/// What the model said of a sample before it had learned anything from it.
struct LabelPrediction {
  /// The number that Admit() returned for the sample.
  std::int64_t sample = 0;
  /// The probability of each class, or the values.
  std::vector<float> outputs = {};
  /// The most probable class. -1: values are predicted.
  int best_class = -1;
  /// Samples of the window whose labels had come: this step learns from them. 0: it learns nothing.
  int labelled = 0;
  /// The mean loss over them. Nothing: there are none.
  std::optional<float> loss = {};
  /// Updates that the last stage's weights had seen when they made this prediction.
  std::int64_t updates = 0;
  /// Whether the outputs and the loss are finite; nothing is learned at this step otherwise.
  bool finite = true;
  /// Whether the loss of labels that are new to the model has risen for good: seen at this step.
  bool drift = false;
};

/// Called with each prediction, in the order of the samples, from a thread of the learner. Must be
/// quick. May call LabelLearner::Label(), and nothing else of the learner: a label sent from here
/// counts from the next step on, in any timing.
using OnLabelPrediction = std::function<void(const LabelPrediction&)>;

/// A network as it was at one moment. Not thread-safe.
class LabelModel {
 public:
  virtual ~LabelModel() = default;

  /// The outputs (as LabelPrediction has them) for samples that lie one after the other.
  /// REQUIRES: `values` holds whole samples, at least one.
  [[nodiscard]] virtual std::vector<std::vector<float>> Outputs(
      std::span<const float> values) const = 0;
};

/// "mlp": fully connected layers with ReLUs; "convolutional": 3x3 convolutions with ReLUs, the size
/// halved twice, then means over space and a fully connected layer.
[[nodiscard]] const std::vector<std::string>& LabelNetworkNames();

/// Learns from samples and labels, and predicts. Admit(), AwaitRoom() and Drain() are for one
/// thread; Label(), updates(), figures(), learning(), gave_up() and OperationsSince() are
/// thread-safe.
class LabelLearner {
 public:
  virtual ~LabelLearner() = default;

  /// Takes the next sample, waiting until the first stage has room, and returns its number, which
  /// counts on from resumption().first_sample. With a `label`, the very first step learns from it.
  /// INVALID_ARGUMENT if there are not as many values as a sample has, one is not finite, or the
  /// label does not fit; such a sample has no number. Fails with the cause once the pipeline has
  /// failed.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> Admit(
      std::span<const float> values, std::optional<SampleLabel> label = {}) = 0;

  /// Waits until a sample would be admitted at once. With LabelSafety it goes back to older weights
  /// here, and only here. Fails as Admit() does.
  virtual absl::Status AwaitRoom() = 0;

  /// Takes the label of a sample: it is learned from at every step from the first that has not
  /// begun to the last whose window holds the sample. NOT_FOUND, OUT_OF_RANGE and ALREADY_EXISTS as
  /// LateLabels::Add(); INVALID_ARGUMENT if it is no label of the task.
  [[nodiscard]] virtual absl::Status Label(std::int64_t sample, SampleLabel label) = 0;

  /// What the network as it is now says of one sample that nothing learns from, as
  /// Learner::Predict(): alone in its window. INVALID_ARGUMENT as Admit(). REQUIRES: `on_copy` is
  /// not used. Thread-safe.
  [[nodiscard]] virtual absl::StatusOr<LabelPrediction> Predict(std::span<const float> values) = 0;

  /// The learning rate is `factor` of the configured one from the next updates on; 0: the weights
  /// stay. REQUIRES: LabelSafety. Thread-safe.
  virtual void ScaleLearningRate(double factor) = 0;
  /// As Learner::AskForCheckpoint(). Thread-safe.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> AskForCheckpoint() = 0;

  /// Runs every operation whose inputs exist, and writes a last checkpoint, if it keeps any.
  /// Nothing can be admitted afterwards. Returns the pipeline's failure, if it failed. Idempotent.
  virtual absl::Status Drain() = 0;

  /// The network as it is now. REQUIRES: drained.
  [[nodiscard]] virtual const LabelModel& Model() = 0;

  /// How it was cut, and the plan of its first phase. Constant.
  [[nodiscard]] virtual const std::vector<int>& cuts() const = 0;
  [[nodiscard]] virtual const Plan& plan() const = 0;

  /// Updates of each stage so far, first stage first.
  [[nodiscard]] virtual std::vector<std::int64_t> updates() const = 0;

  /// As Learner::worked(). Thread-safe.
  [[nodiscard]] virtual std::vector<StageTime> worked() const = 0;
  [[nodiscard]] virtual LabelFigures figures() const = 0;
  [[nodiscard]] virtual LearningFigures learning() const = 0;
  /// Whether learning is given up (LearningFigures): quick, to be asked at each prediction.
  [[nodiscard]] virtual bool gave_up() const = 0;
  /// Constant.
  [[nodiscard]] virtual const Resumption& resumption() const = 0;
  /// As Learner::OperationsSince().
  [[nodiscard]] virtual std::vector<PastOperation> OperationsSince(nanoseconds since) const = 0;
};

/// Builds the network, tries it, cuts it, plans and starts the workers. The same options, samples
/// and labels give the same bits, as long as each label is there from the same step on and no
/// period is given. Fails with INVALID_ARGUMENT or NOT_FOUND, and with FAILED_PRECONDITION where
/// the checkpoints are of another network or task or in use, saying what to do.
[[nodiscard]] absl::StatusOr<std::unique_ptr<LabelLearner>> MakeLabelLearner(
    const LabelLearnerOptions& options, OnLabelPrediction on_prediction);

}  // namespace millrace::pipeline
