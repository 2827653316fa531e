// A network that learns from a stream, one sample at a time, while it predicts.
//
// This is all that the service sees of the pipeline: samples go in, predictions come out, each made
// before the model learned from its own sample. Free of LibTorch, so that tests can stand in a
// learner of known behaviour, and clients of this header compile quickly.
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
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::pipeline {

/// Neighbouring pictures: red, green, blue bytes, rows first, height * width * 3 each. Borrowed
/// until Admit() returns.
struct PicturePair {
  /// Not looked at by a task of labels, whose samples are single pictures.
  std::span<const std::uint8_t> previous;
  std::span<const std::uint8_t> current;
  /// The picture before `previous`: for the next frame only, and empty otherwise.
  std::span<const std::uint8_t> before = {};
  /// A task of labels: that of the current picture, where it is known before the picture is taken.
  std::optional<SampleLabel> label = {};
};

/// What the model said of one sample, and how well: scored before it learned from that sample.
struct ModelPrediction {
  /// The number that Admit() returned for the sample; -1: it is none of the stream's (Predict()).
  std::int64_t sample = 0;
  int width = 0;
  int height = 0;
  /// (dx, dy) for every pixel, rows first: height * width * 2. The motion in pixels from the
  /// previous picture to the current one, indexed at the previous: previous(x) ~ current(x +
  /// flow(x)). For the next frame what is expected to go on: next(x) ~ current(x - flow(x)).
  std::shared_ptr<const std::vector<float>> flow;
  /// A task of labels: the probability of each class, or the values; null: the task is another.
  std::shared_ptr<const std::vector<float>> outputs = nullptr;
  /// The most probable class. -1: no classes are predicted.
  int best_class = -1;
  /// Samples of the window whose labels had come, which this step learns from.
  int labelled = 0;
  /// The photometric loss of the flow, and that of no motion on the same pictures. For the next
  /// frame: of the current picture as the two before it foretold it. A task of labels: the mean
  /// loss over the `labelled` samples, 0 where there are none, and 0.
  float loss = 0;
  float loss_no_motion = 0;
  /// Updates that the last stage's weights had seen when they made this prediction.
  std::int64_t updates = 0;
  /// The terms of what it learns by, without their weights, as FlowLossTerms() names them.
  std::vector<float> terms = {};
  /// Whether the flow or the outputs, and the losses, are finite.
  bool finite = true;
  /// Why the model does not learn from the sample; kNone: it does.
  SkipReason skipped = SkipReason::kNone;
  /// Whether the loss, relative to that of no motion, has risen for good: seen at this prediction.
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

  /// Takes one sample, waiting until the first stage has room for it, and returns its number, which
  /// counts on from resumption().first_sample. Fails with INVALID_ARGUMENT if the pictures' size is
  /// not that of the description, and with the cause once the pipeline has failed; such a sample
  /// has no number and no prediction.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> Admit(const PicturePair& pair) = 0;

  /// Waits until a sample would be admitted at once. A source that drops frames then picks the
  /// freshest. A learner that plans again changes plans here, and only here, and goes back to older
  /// weights here. Fails as Admit() does.
  virtual absl::Status AwaitRoom() = 0;

  /// Takes the label of a sample that was admitted, from the first step on that has not begun.
  /// FAILED_PRECONDITION where the task takes none; NOT_FOUND if there is no such sample,
  /// OUT_OF_RANGE if it has left the window, ALREADY_EXISTS if it has one, INVALID_ARGUMENT if it
  /// is no label of the task. Thread-safe; may be called from OnPrediction.
  [[nodiscard]] virtual absl::Status Label(std::int64_t /*sample*/, const SampleLabel& /*label*/) {
    return absl::FailedPreconditionError("the model learns without labels and takes none");
  }

  /// What the network as it is now says of a sample that is none of the stream's, and that nothing
  /// learns from: with the newest weights of each stage, whether it learns, waits or has ended. On
  /// the CPU, on the thread that calls, for as long as a forward of the whole network takes; the
  /// stages are not waited for beyond an operation of each. INVALID_ARGUMENT as Admit();
  /// FAILED_PRECONDITION if the learner cannot. Thread-safe: one sample at a time.
  [[nodiscard]] virtual absl::StatusOr<ModelPrediction> Predict(const PicturePair& /*pair*/) {
    return absl::FailedPreconditionError("this model predicts the frames of its stream alone");
  }

  /// Of the samples admitted from now on only every n-th is learned from; 1: every one; 0: none, it
  /// only predicts.
  /// Every sample is predicted. Thread-safe.
  virtual void LearnFromEvery(int n) = 0;

  /// Of the samples admitted from now on none is learned from, or as before. Every sample is
  /// predicted. Thread-safe.
  virtual void Freeze(bool frozen) = 0;

  /// How far the next updates go, instead of the configured rate; a roll-back halves it all the
  /// same. INVALID_ARGUMENT unless it is from 0 to 1, and FAILED_PRECONDITION where the configured
  /// rate is 0. Thread-safe.
  [[nodiscard]] virtual absl::Status SetLearningRate(double rate) = 0;
  /// As it was set last, or configured. Thread-safe.
  [[nodiscard]] virtual double learning_rate() const = 0;

  /// From which of the samples admitted from now on to learn, instead of the configured policy; it
  /// warms up anew. INVALID_ARGUMENT as CheckUpdatePolicy(), and FAILED_PRECONDITION where labels
  /// decide. Thread-safe.
  [[nodiscard]] virtual absl::Status SetPolicy(const UpdatePolicyOptions& /*policy*/) {
    return absl::FailedPreconditionError("labels decide what the model learns from");
  }

  /// The next weights that prove good are written, whenever the last ones were, and kept until they
  /// are removed. Returns the number of the request, 1 for the first: see
  /// CheckpointWritten::answers. FAILED_PRECONDITION if it keeps no checkpoints. Thread-safe.
  [[nodiscard]] virtual absl::StatusOr<std::int64_t> AskForCheckpoint() = 0;

  /// Waits until every admitted sample is predicted and every operation whose inputs exist has run,
  /// and a last checkpoint is written. Nothing can be admitted afterwards. Returns the pipeline's
  /// failure, if it failed: then the samples in flight get no prediction. Idempotent.
  virtual absl::Status Drain() = 0;

  /// As it is now: planning again and LearnFromEvery() change it.
  [[nodiscard]] virtual std::shared_ptr<const LearnerDescription> description() const = 0;

  /// Updates of each stage so far, first stage first.
  [[nodiscard]] virtual std::vector<std::int64_t> updates() const = 0;

  /// For how long each stage has worked so far in this process, first stage first. Empty: it is not
  /// known, as on GPUs, whose operations end when nobody looks.
  [[nodiscard]] virtual std::vector<StageTime> worked() const { return {}; }

  [[nodiscard]] virtual LearningFigures learning() const = 0;

  /// Of each GPU that it computes on, shared with the other learners of the process. Empty on the
  /// CPU.
  [[nodiscard]] virtual std::vector<GpuMemory> gpu_memory() const { return {}; }

  /// Constant.
  [[nodiscard]] virtual const Resumption& resumption() const = 0;

  /// The operations that ended at `since` or later, on the monotonic clock, as far as they are
  /// still kept: by device, then in the order in which they ran. A learner without a pipeline has
  /// none.
  [[nodiscard]] virtual std::vector<PastOperation> OperationsSince(nanoseconds /*since*/) const {
    return {};
  }
};

}  // namespace millrace::pipeline
