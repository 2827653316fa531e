// A network that learns from a stream, one sample at a time, while it predicts.
//
// This is the service's whole view of the pipeline. Samples go in; predictions come out, each made
// before the model learned from its own sample. Free of LibTorch, so tests can use a fake learner,
// and clients of this header compile quickly.
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
#include "base/clock.h"
#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/decisions/sample_label.h"
#include "pipeline/learner/learner_description.h"
#include "pipeline/learner/learner_safety.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/stage_time.h"
#include "pipeline/wires/rank_figures.h"

namespace millrace::pipeline {

/// Neighbouring pictures: red, green, blue bytes, rows first, height * width * 3 each. Borrowed
/// until Admit() returns.
struct Sample {
  /// Ignored by a task of labels, whose samples are single pictures.
  std::span<const std::uint8_t> previous;
  std::span<const std::uint8_t> current;
  /// The picture before `previous`. For the next frame only; empty otherwise.
  std::span<const std::uint8_t> before = {};
  /// For a task of labels: the label of the current picture, if it is already known.
  std::optional<SampleLabel> label = {};
};

/// The model's prediction for one sample, scored before the model learned from that sample.
struct ModelPrediction {
  /// The number that Admit() returned for the sample; -1 for a sample outside the stream
  /// (Predict()).
  std::int64_t sample = 0;
  int width = 0;
  int height = 0;
  /// (dx, dy) for every pixel, rows first: height * width * 2. The motion in pixels from the
  /// previous picture to the current one, indexed at the previous: previous(x) ~ current(x +
  /// flow(x)). For the next frame: the expected motion, next(x) ~ current(x - flow(x)).
  std::shared_ptr<const std::vector<float>> flow;
  /// For a task of labels: the probability of each class, or the values. Null for other tasks.
  std::shared_ptr<const std::vector<float>> outputs = nullptr;
  /// The most probable class. -1: the task has no classes.
  int best_class = -1;
  /// The number of labelled samples in the window, from which this step learns.
  int labelled = 0;
  /// The photometric loss of the flow, and of no motion, on the same pictures. For the next frame:
  /// the loss of the current picture, as predicted from the two before it. For a task of labels:
  /// the mean loss over the `labelled` samples, 0 without any; loss_no_motion is 0.
  float loss = 0;
  float loss_no_motion = 0;
  /// Updates of the last stage's weights at the time of this prediction.
  std::int64_t updates = 0;
  /// The unweighted terms of the training loss, in the order of FlowLossTerms().
  std::vector<float> terms = {};
  /// Whether the flow or the outputs, and the losses, are finite.
  bool finite = true;
  /// Why the model does not learn from the sample; kNone if it learns.
  SkipReason skipped = SkipReason::kNone;
  /// Whether a drift was detected at this prediction: the loss, relative to no motion, has risen
  /// and stays high.
  bool drift = false;

  [[nodiscard]] bool has_loss() const { return outputs == nullptr || labelled > 0; }
};

/// Called with each prediction, in the order of the samples, from a thread of the learner. Must be
/// quick and must not call the learner.
using OnPrediction = std::function<void(ModelPrediction)>;

/// Learns from samples and predicts. Admit(), AwaitRoom() and Drain() are for one thread; the rest
/// is thread-safe.
class Learner {
 public:
  virtual ~Learner() = default;

  /// Admits one sample, waiting until the first stage has room for it. Returns its number, which
  /// counts on from resumption().first_sample. Fails with INVALID_ARGUMENT if the pictures' size
  /// differs from the description, and with the cause once the pipeline has failed. A rejected
  /// sample has no number and no prediction.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> Admit(const Sample& sample) = 0;

  /// Waits until a sample would be admitted at once. A source that drops frames should then pick
  /// the newest. A learner switches plans only in this call. It also rolls back weights and
  /// changes its optimizer here. Fails as Admit() does.
  virtual absl::Status AwaitRoom() = 0;

  /// Adds the label of an admitted sample. It counts from the first step that has not begun. Fails
  /// with
  ///   FAILED_PRECONDITION  if the task takes no labels
  ///   NOT_FOUND            if there is no such sample
  ///   OUT_OF_RANGE         if the sample has left the window
  ///   ALREADY_EXISTS       if the sample has a label
  ///   INVALID_ARGUMENT     if the label does not fit the task
  /// Thread-safe; may be called from OnPrediction.
  [[nodiscard]] virtual absl::Status Label(std::int64_t /*sample*/, const SampleLabel& /*label*/) {
    return absl::FailedPreconditionError("the model learns without labels and takes none");
  }

  /// Predicts a sample outside the stream, without learning from it, with the newest weights of
  /// each stage. Works while the learner learns, waits or has ended. Runs a forward of the whole
  /// network on the CPU, on the calling thread. Waits for at most one operation of each stage.
  /// Fails with INVALID_ARGUMENT as Admit() does, and with FAILED_PRECONDITION if the learner does
  /// not support it. Thread-safe: handles one sample at a time.
  [[nodiscard]] virtual absl::StatusOr<ModelPrediction> Predict(const Sample& /*sample*/) {
    return absl::FailedPreconditionError("this model predicts the frames of its stream alone");
  }

  /// Learns only from every n-th sample admitted from now on. 0: learns from no sample.
  /// Predicts every sample. Thread-safe.
  virtual void LearnFromEvery(int n) = 0;

  /// The camera sends this many frames a second from now on. A learner on the CPU that replans
  /// (replan_share) plans for this rate; the others ignore it. For the thread that admits samples.
  virtual void FollowRate(double /*frames_per_second*/) {}

  /// If `frozen`, does not learn from samples admitted from now on. Otherwise learns as before.
  /// Every sample is predicted. Thread-safe.
  virtual void Freeze(bool frozen) = 0;

  /// Replaces the configured learning rate for the next updates. A roll-back still halves it. Fails
  /// with INVALID_ARGUMENT unless `rate` is from 0 to 1, and with FAILED_PRECONDITION if the
  /// configured rate is 0. Thread-safe.
  [[nodiscard]] virtual absl::Status SetLearningRate(double rate) = 0;
  /// The rate that was set last, or the configured one. Thread-safe.
  [[nodiscard]] virtual double learning_rate() const = 0;

  /// Replaces the configured options of the optimizer but the learning rate, in the next
  /// AwaitRoom(). Its state stays: the means of past gradients. If learning was given up, it
  /// resumes with the whole rate. Fails with INVALID_ARGUMENT as CheckOptimizer() does, and with
  /// FAILED_PRECONDITION if the new optimizer keeps another state (OptimizerStateInWords()).
  /// Thread-safe.
  [[nodiscard]] virtual absl::Status SetOptimizer(const OptimizerOptions& /*optimizer*/) {
    return absl::FailedPreconditionError("this learner keeps the optimizer that it was made with");
  }

  /// Replaces the configured policy for samples admitted from now on. The new policy warms up
  /// again. Fails with INVALID_ARGUMENT as CheckUpdatePolicy() does, and with FAILED_PRECONDITION
  /// if labels decide. Thread-safe.
  [[nodiscard]] virtual absl::Status SetPolicy(const UpdatePolicyOptions& /*policy*/) {
    return absl::FailedPreconditionError("labels decide what the model learns from");
  }

  /// Requests a checkpoint of the next weights that prove good, in addition to the regular ones. It
  /// is kept until a user removes it. Returns the number of the request, 1 for the first: see
  /// CheckpointWritten::answers. Fails with FAILED_PRECONDITION if the learner keeps no
  /// checkpoints. Thread-safe.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> AskForCheckpoint() = 0;

  /// Waits until every admitted sample is predicted, every operation whose inputs exist has run,
  /// and a last checkpoint is written. Later calls of Admit() fail. Returns the pipeline's failure,
  /// if it failed; the samples in flight then get no prediction. Idempotent.
  virtual absl::Status Drain() = 0;

  /// The current description. Planning again and LearnFromEvery() change it.
  [[nodiscard]] virtual std::shared_ptr<const LearnerDescription> description() const = 0;

  /// Updates of each stage so far, first stage first.
  [[nodiscard]] virtual std::vector<std::int64_t> updates() const = 0;

  /// The mean cosine between consecutive updates of each stage, first stage first. nullopt for a
  /// stage on a GPU, or without two updates. Empty for labels, and without measures_cosine.
  /// REQUIRES: no sample is under way, as after Drain().
  [[nodiscard]] virtual std::vector<std::optional<double>> update_cosines() const { return {}; }

  /// The working time of each stage, first stage first, also on other hosts. Empty if unknown, as
  /// on GPUs, where the host does not see when operations end.
  [[nodiscard]] virtual std::vector<StageTime> worked() const { return {}; }

  [[nodiscard]] virtual LearningFigures learning() const = 0;

  /// OK, or UNAVAILABLE while samples cannot be admitted for now: processes on other hosts, which
  /// run stages, have not joined or were lost. Then AwaitRoom() and Admit() fail, samples under way
  /// get no prediction, and the next ones have the next numbers. Begins in these functions, and
  /// ends in AwaitRoom(). Thread-safe.
  [[nodiscard]] virtual absl::Status interruption() const { return absl::OkStatus(); }

  /// nullopt: this process runs all stages. Thread-safe.
  [[nodiscard]] virtual std::optional<RankFigures> ranks() const { return std::nullopt; }

  /// The memory of each GPU that it computes on, shared with the other learners of the process.
  /// Empty on the CPU.
  [[nodiscard]] virtual std::vector<GpuMemory> gpu_memory() const { return {}; }

  /// Constant.
  [[nodiscard]] virtual const Resumption& resumption() const = 0;

  /// The kept operations that ended at `since` or later, on the monotonic clock: by device, then in
  /// the order of execution. Empty for a learner without a pipeline.
  [[nodiscard]] virtual std::vector<PastOperation> OperationsSince(nanoseconds /*since*/) const {
    return {};
  }
};

}  // namespace millrace::pipeline
