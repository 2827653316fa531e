// A camera stream: one source of frames, the learner of these frames, and the ring of its
// predictions.
//
//   source ─▶ FrameQueue ─▶ learner's thread ─▶ Learner ─▶ PredictionRing ─▶ readers
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ingest/source/source.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "service/config/config.h"
#include "service/frames/frame_counts.h"
#include "service/frames/frame_labels.h"
#include "service/frames/learning_window.h"
#include "service/frames/load_window.h"
#include "service/frames/prediction.h"
#include "service/frames/prediction_ring.h"
#include "service/overload/idle_cores.h"
#include "service/overload/overload.h"
#include "service/stream/checkpoint_requests.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// A consistent snapshot of a camera stream, for the page, the metrics, the progress line and the
/// API.
struct StreamSnapshot {
  std::string name;
  /// The source, without credentials.
  std::string uri;
  ingest::SourceStatus source;
  LearnerState learner_state = LearnerState::kLearning;
  /// OK while the learner works; the cause after it has failed.
  absl::Status learner;
  FrameCounts frames;
  /// Over at most the last ten seconds.
  double frames_per_second_in = 0;
  double predictions_per_second = 0;
  /// Delay of the predictions of the last ten seconds, in seconds.
  double delay_p50_s = 0;
  double delay_p99_s = 0;
  /// The value of the newest predictions.
  RecentLearning recent = {};
  /// Updates of each stage, over all processes that learned from this stream; and the number of
  /// updates that earlier processes had made.
  std::vector<std::int64_t> updates;
  std::int64_t updates_at_start = 0;
  /// The load of each stage over at most the last ten seconds. Empty: unknown, or not yet known.
  std::vector<StageLoad> loads;
  /// The effective learning rate.
  double learning_rate = 0;
  pipeline::UpdatePolicyOptions policy = {};
  /// But for its learning rate.
  pipeline::OptimizerOptions optimizer = {};
  /// It learns from one frame in `update_every`; 0: it only predicts.
  int update_every = 1;
  Overload overload;
  Promise promise;
  /// Predictions without learning, indexed by SkipReason.
  std::array<std::uint64_t, pipeline::kSkipReasons> skipped = {};
  pipeline::LearningFigures learning;
  /// As pipeline::Learner::interruption() and ranks().
  absl::Status interruption = {};
  std::optional<pipeline::RankFigures> ranks = {};
  /// The load of each link between ranks. Empty: one process, or not yet known.
  std::vector<LinkLoad> links = {};
  /// nullopt unless it learns from labels.
  std::optional<LabelCounts> labels = {};
};

/// Why the learner failed, gave up learning, or waits for other hosts, in words. Otherwise empty.
[[nodiscard]] std::string LearnerCause(const StreamSnapshot& snapshot);

/// Runs from Start() to Stop(). Thread-safe.
class CameraStream {
 public:
  using LearnerFactory = std::function<absl::StatusOr<std::unique_ptr<pipeline::Learner>>(
      const StreamConfig&, pipeline::OnPrediction, const pipeline::LearnerHooks&)>;
  using SourceFactory =
      std::function<absl::StatusOr<std::unique_ptr<ingest::Source>>(const ingest::SourceOptions&)>;

  struct Options {
    StreamConfig config;
    /// MakeLearner() (real_stream.h) and ingest::OpenSource, or a test's own. No default, so that
    /// this library needs neither LibTorch nor GStreamer. RealStream() (real_stream.h) sets them.
    LearnerFactory make_learner;
    SourceFactory open_source;
    const Clock* clock = &MonotonicClock();
    /// The number of predictions that the ring keeps for slow readers.
    std::size_t ring_capacity = 16;
    /// Checks whether the new learner may run here. Start() returns its error. May be empty.
    std::function<absl::Status(const pipeline::LearnerDescription&)> admit = {};
    /// Compares a prediction with a method that does not learn, and adds the result. Called for
    /// each prediction, in order, on a thread of the learner, which waits for it. May be empty.
    std::function<void(Prediction&)> compare;
    /// Called with each new state of the current source or of the learner, and its cause. Calls
    /// come in order, from threads of the source, the learner or a client's call. It must return
    /// quickly and not call the stream. May be empty.
    std::function<void(ingest::SourceState, const absl::Status&)> on_source_state = {};
    std::function<void(LearnerState, const absl::Status&)> on_learner_state = {};
    /// Called when the kind of overload changes, on a thread that takes a snapshot. It must return
    /// quickly and not call the stream. May be empty.
    std::function<void(const Overload&)> on_overload = {};
    std::function<CpuTimes()> cpu_times = &ReadCpuTimes;
    /// Called with each prediction before its publication, for a histogram of delays. It runs on a
    /// thread of the learner, so it must return quickly. May be empty.
    std::function<void(const Prediction&)> observe;
  };

  /// Creates the learner, opens the source and starts learning. Returns the errors of
  /// `make_learner` and `open_source`, with the stream's name. `stop` cancels it.
  ///
  /// REQUIRES: both factories are set.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CameraStream>> Start(
      Options options, const std::stop_token& stop = {});

  virtual ~CameraStream() = default;

  /// The configuration at the start. ReplaceSource() does not change it.
  [[nodiscard]] virtual const StreamConfig& config() const = 0;
  /// The learner's current description.
  [[nodiscard]] virtual std::shared_ptr<const pipeline::LearnerDescription> learner() const = 0;
  /// The state from which the learner resumed. Constant.
  [[nodiscard]] virtual const pipeline::Resumption& resumption() const = 0;
  [[nodiscard]] virtual PredictionRing& ring() = 0;
  /// Also evaluates overload, so one component must call it every few seconds.
  [[nodiscard]] virtual StreamSnapshot Snapshot() const = 0;

  /// As Learner::gpu_memory().
  [[nodiscard]] virtual std::vector<pipeline::GpuMemory> gpu_memory() const { return {}; }

  /// The entry for pushed frames, each with a PushedFrame (pushed_frame.h); null for any other
  /// source.
  [[nodiscard]] virtual std::shared_ptr<ingest::PushEntry> push_entry() = 0;

  /// OK if it takes labels; else FAILED_PRECONDITION with the cause.
  [[nodiscard]] virtual absl::Status TakesLabels() const = 0;
  /// Takes the label of a frame. The label is used in each step from the next one to the last whose
  /// window contains the frame. A label that arrives before its frame's prediction goes to the
  /// learner with the frame. NOT_FOUND if the frame does not exist or has no prediction.
  /// OUT_OF_RANGE with the oldest frame that can still be labelled, if the frame is older.
  /// ALREADY_EXISTS if the frame has a label; the first one stays. INVALID_ARGUMENT with the
  /// allowed values if the label is not valid for the task. FAILED_PRECONDITION as TakesLabels().
  [[nodiscard]] virtual absl::Status Label(std::int64_t frame_number, const ClientLabel& label) = 0;

  /// Sets the learner's mode from the next frame on. The mode kLearning also resumes after learning
  /// was given up, with the share of the learning rate that is left. FAILED_PRECONDITION if the
  /// learner has failed or the stream has ended. REQUIRES: kLearning, kFrozen or kPaused.
  [[nodiscard]] virtual absl::Status SetMode(LearnerState mode) = 0;
  /// Applies the whole change, or nothing if it fails. Fails as pipeline::Learner does.
  /// FAILED_PRECONDITION as SetMode().
  [[nodiscard]] virtual absl::Status Change(const LearnerChange& change) = 0;
  /// Writes a checkpoint of the next validated weights, and keeps it until it is removed. Calls
  /// `done` with its name or an error. FAILED_PRECONDITION if the stream keeps no checkpoints, or
  /// does not learn now or during the wait. UNAVAILABLE if too many requests wait. CANCELLED after
  /// a request by `stop`, or if the stream has ended.
  virtual void WriteCheckpoint(const std::stop_token& stop, OnCheckpoint done) = 0;

  /// Opens another source with pictures of the same size, and takes its frames from then on. Frame
  /// numbers continue, and a new epoch begins. Waiting frames of the old source come first. The new
  /// source's state is reported after it has replaced the old one. Fails as `open_source`, with
  /// FAILED_PRECONDITION if it has ended, and CANCELLED if it stops. Then nothing has changed.
  [[nodiscard]] virtual absl::Status ReplaceSource(const ingest::SourceOptions& source) = 0;

  /// The number of pictures in a sample: 2 for flow, 3 for the next frame, 1 with labels.
  [[nodiscard]] virtual int pictures_per_sample() const = 0;
  /// Predicts from a client's pictures, oldest first, with the current model, while the stream
  /// learns, waits or has ended. The prediction has no frame, number or times. It runs on the
  /// calling thread, for as long as pipeline::Learner::Predict(). INVALID_ARGUMENT unless the
  /// pictures have the model's size. FAILED_PRECONDITION, LEARNER_FAILED, after the learner has
  /// failed. REQUIRES: pictures_per_sample() pictures.
  [[nodiscard]] virtual absl::StatusOr<Prediction> Predict(
      std::span<const std::shared_ptr<const ingest::Picture>> pictures) = 0;

  /// The learner's operations since `since`: as pipeline::Learner::OperationsSince().
  [[nodiscard]] virtual std::vector<pipeline::PastOperation> OperationsSince(
      std::chrono::nanoseconds since) const = 0;

  /// Whether it still takes frames: it has neither ended by itself nor been stopped.
  [[nodiscard]] virtual bool running() const = 0;
  /// Whether it has ended by itself: the source has ended for good, and every frame has its
  /// outcome.
  [[nodiscard]] virtual bool ended() const = 0;

  /// Stops the source, lets the frames inside the pipeline finish, and closes the ring. Takes as
  /// long as the frames in flight. Frames in the queue are dropped with reason `shutdown`.
  /// Idempotent.
  virtual void Stop() = 0;
};

}  // namespace millrace::service
