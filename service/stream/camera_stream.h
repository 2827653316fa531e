// A camera stream: one source of frames, the learner that lives on it, and the ring of its
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
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"
#include "service/config/config.h"
#include "service/frames/accounting.h"
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

/// A consistent picture of a camera stream at one moment: what the page, the metrics, the progress
/// line and the API show.
struct StreamSnapshot {
  std::string name;
  /// The source, without credentials.
  std::string uri;
  ingest::SourceStatus source;
  LearnerState learner_state = LearnerState::kLearning;
  /// OK while it learns; the cause once the learner has failed.
  absl::Status learner;
  FrameCounts frames;
  /// Over the last ten seconds or less.
  double frames_per_second_in = 0;
  double predictions_per_second = 0;
  /// Delay of the predictions of the last ten seconds, in seconds.
  double delay_p50_s = 0;
  double delay_p99_s = 0;
  /// What the newest predictions were worth.
  RecentLearning recent = {};
  /// Of each stage, over all processes that learned from this stream, and how many of them a
  /// process before had made.
  std::vector<std::int64_t> updates;
  std::int64_t updates_at_start = 0;
  /// Of each stage, over the last ten seconds or less. Empty: not known, or not yet.
  std::vector<StageLoad> loads;
  /// In force now.
  double learning_rate = 0;
  pipeline::UpdatePolicyOptions policy = {};
  /// From every which frame it learns now; 0: from none, it only predicts.
  int update_every = 1;
  Overload overload;
  Promise promise;
  /// Predictions that nothing was learned from, by reason: indexed by SkipReason.
  std::array<std::uint64_t, pipeline::kSkipReasons> skipped = {};
  pipeline::LearningFigures learning;
  /// Nothing, unless it learns from labels.
  std::optional<LabelCounts> labels = {};
};

/// Why the learner failed, or learning was given up, in words. Empty: neither.
[[nodiscard]] std::string LearnerCause(const StreamSnapshot& snapshot);

/// Runs from Start() to Stop(). Thread-safe.
class CameraStream {
 public:
  using LearnerFactory = std::function<absl::StatusOr<std::unique_ptr<pipeline::Learner>>(
      const pipeline::FlowLearnerOptions&, pipeline::OnPrediction)>;
  using SourceFactory =
      std::function<absl::StatusOr<std::unique_ptr<ingest::Source>>(const ingest::SourceOptions&)>;

  struct Options {
    /// Start() gives up once `config.learner.stop` says so.
    StreamConfig config;
    /// pipeline::MakeFlowLearner and ingest::OpenSource, or a test's own. No default, so that what
    /// links this needs neither LibTorch nor GStreamer; RealStream() (real_stream.h) fills them in.
    LearnerFactory make_learner;
    SourceFactory open_source;
    const Clock* clock = &MonotonicClock();
    /// Predictions that the ring keeps for slow readers.
    std::size_t ring_capacity = 16;
    /// Whether the learner as it was made may run here; the stream fails to start with what it
    /// fails with. May be empty.
    std::function<absl::Status(const pipeline::LearnerDescription&)> admit = {};
    /// What a prediction is worth beside a method that does not learn. Called for each, in their
    /// order, from a thread of the learner, which it holds up. May be empty.
    std::function<Comparison(const Prediction&)> compare;
    /// Called when the source in the seat, or the learner, does something else than before, and
    /// why: in the order in which it happens, from threads of theirs and those that call in here.
    /// It must be quick, and not call the stream. May be empty.
    std::function<void(ingest::SourceState, const absl::Status&)> on_source_state = {};
    std::function<void(LearnerState, const absl::Status&)> on_learner_state = {};
    /// Called when the kind of overload changes, from a thread that takes a snapshot. It must be
    /// quick, and not call the stream. May be empty.
    std::function<void(const Overload&)> on_overload = {};
    std::function<CpuTimes()> cpu_times = &ReadCpuTimes;
    /// Called with each prediction before it is published, for a histogram of delays. Called from a
    /// thread of the learner, so it must be quick. May be empty.
    std::function<void(const Prediction&)> observe;
  };

  /// Makes the learner, opens the source and starts learning. Fails as `make_learner` and
  /// `open_source` do, naming the stream.
  ///
  /// REQUIRES: both factories are set.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CameraStream>> Start(Options options);

  virtual ~CameraStream() = default;

  /// As it was started, but for the tokens; ReplaceSource() does not change it.
  [[nodiscard]] virtual const StreamConfig& config() const = 0;
  /// The learner as it is now.
  [[nodiscard]] virtual std::shared_ptr<const pipeline::LearnerDescription> learner() const = 0;
  /// What the learner went on from. Constant.
  [[nodiscard]] virtual const pipeline::Resumption& resumption() const = 0;
  [[nodiscard]] virtual PredictionRing& ring() = 0;
  /// Also judges whether it is overloaded, so somebody has to take one every few seconds.
  [[nodiscard]] virtual StreamSnapshot Snapshot() const = 0;

  /// As Learner::gpu_memory().
  [[nodiscard]] virtual std::vector<pipeline::GpuMemory> gpu_memory() const { return {}; }

  /// Where frames are pushed into it, of PushedFrame (pushed_frame.h) each; null where they come
  /// from elsewhere.
  [[nodiscard]] virtual std::shared_ptr<ingest::PushEntry> push_entry() = 0;

  /// OK if it takes labels; else FAILED_PRECONDITION, saying why not.
  [[nodiscard]] virtual absl::Status TakesLabels() const = 0;
  /// Takes the label of a frame: it teaches at every step from the next one to the last whose
  /// window holds the frame. One that comes before its frame is predicted goes to the learner with
  /// it. NOT_FOUND if there is no such frame or it got no prediction; OUT_OF_RANGE, naming the
  /// oldest that can still be labelled, if it is older; ALREADY_EXISTS if it has a label: the first
  /// one stays; INVALID_ARGUMENT, saying what is allowed, if it is no label of the task.
  /// FAILED_PRECONDITION as TakesLabels().
  [[nodiscard]] virtual absl::Status Label(std::int64_t frame_number, const ClientLabel& label) = 0;

  /// Has the learner do what `mode` says, from the next frame on: kLearning also where learning was
  /// given up, with the share of the rate that was left. FAILED_PRECONDITION once it has failed or
  /// the stream has ended. REQUIRES: kLearning, kFrozen or kPaused.
  [[nodiscard]] virtual absl::Status SetMode(LearnerState mode) = 0;
  /// Changes all of it or, failing as pipeline::Learner does, nothing. FAILED_PRECONDITION as
  /// SetMode().
  [[nodiscard]] virtual absl::Status Change(const LearnerChange& change) = 0;
  /// Has a checkpoint written of the next weights that prove good, and kept until it is removed.
  /// `done` is told its name, or what writing fails with; FAILED_PRECONDITION if it keeps none, or
  /// learns nothing now or while it is waited for; UNAVAILABLE where too many wait already; and
  /// CANCELLED once `stop` says so or the stream has ended.
  virtual void WriteCheckpoint(const std::stop_token& stop, OnCheckpoint done) = 0;

  /// Opens another source, of pictures of the same size, and takes its frames from then on: numbers
  /// go on, and a new epoch begins. Frames that wait come first. What the new source is doing is
  /// told once it has taken the last one's place. Fails as `open_source` does, and
  /// with FAILED_PRECONDITION once the stream has ended or was stopped; then nothing has changed.
  [[nodiscard]] virtual absl::Status ReplaceSource(const ingest::SourceOptions& source) = 0;

  /// Pictures that a sample of the model has: two, the neighbours; three for the next frame; one
  /// where it learns from labels.
  [[nodiscard]] virtual int pictures_per_sample() const = 0;
  /// What the model as it is now says of a client's pictures, oldest first, while it learns, waits,
  /// or has ended. Of no frame: without a number or times. On the thread that calls, for as long as
  /// pipeline::Learner::Predict() takes. INVALID_ARGUMENT unless they are of the model's size;
  /// FAILED_PRECONDITION, LEARNER_FAILED, once it has failed. REQUIRES: pictures_per_sample() of
  /// them.
  [[nodiscard]] virtual absl::StatusOr<Prediction> Predict(
      std::span<const std::shared_ptr<const ingest::Picture>> pictures) = 0;

  /// What the learner has done since then: as pipeline::Learner::OperationsSince().
  [[nodiscard]] virtual std::vector<pipeline::PastOperation> OperationsSince(
      std::chrono::nanoseconds since) const = 0;

  /// Whether it takes frames still: it has neither ended by itself nor been stopped.
  [[nodiscard]] virtual bool running() const = 0;
  /// Whether it has ended by itself: the source ended for good and every frame is accounted for.
  [[nodiscard]] virtual bool ended() const = 0;

  /// Stops the source, lets the frames inside the pipeline finish, closes the ring. Takes as long
  /// as the frames in flight; frames still queued are dropped with reason `shutdown`. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace millrace::service
