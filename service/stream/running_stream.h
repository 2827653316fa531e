// The implementation of CameraStream: a source, its learner, and the counts between them. It is
// separate from camera_stream.h, so that users of a stream do not depend on its parts.
//
// The path of a frame. Every arrow is counted once, and each frame has one end.
//
//   source ─▶ queue ─▶ learner's thread ─▶ learner ─▶ predicted
//               │            │                │
//               ▼            ▼                ▼
//          queue_full   no_predecessor,    rejected (the learner failed),
//          shutdown     gap, rejected,     ranks_lost
//                       paused, shutdown,
//                       ranks_lost
//
// With labels, a frame needs no predecessor: `no_predecessor` and `gap` do not occur.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "ingest/frame/frame.h"
#include "ingest/source/source.h"
#include "pipeline/learner/learner.h"
#include "service/config/config.h"
#include "service/frames/frame_counts.h"
#include "service/frames/frame_labels.h"
#include "service/frames/frame_ledger.h"
#include "service/frames/frame_prediction.h"
#include "service/frames/frames_in_flight.h"
#include "service/frames/prediction.h"
#include "service/frames/prediction_ring.h"
#include "service/frames/recent_stats.h"
#include "service/overload/overload_watch.h"
#include "service/stream/active_source_state.h"
#include "service/stream/camera_stream.h"
#include "service/stream/checkpoint_requests.h"
#include "service/stream/learner_controls.h"
#include "service/stream/learner_lifecycle.h"
#include "service/stream/rate_keeper.h"
#include "service/stream/replaceable_source.h"

namespace millrace::service {

/// Thread-safe after Open(). Objects and functions in the options must outlive it.
class RunningStream final : public CameraStream {
 public:
  explicit RunningStream(Options options)
      : options_(std::move(options)),
        ring_(options_.ring_capacity),
        source_state_(options_.on_source_state),
        controls_(options_.config.name, options_.config.flow.learning.policy,
                  options_.config.learner.optimizer),
        lifecycle_(options_.config.name, options_.on_learner_state),
        checkpoints_(options_.config.name),
        overload_({.stream = options_.config.name,
                   .on_overload = options_.on_overload,
                   .cpu_times = options_.cpu_times}) {}
  ~RunningStream() override {
    if (thread_.joinable()) RunningStream::Stop();
  }

  RunningStream(const RunningStream&) = delete;
  RunningStream& operator=(const RunningStream&) = delete;

  /// Call it once, before any other function. `stop` cancels it. Fails as CameraStream::Start().
  absl::Status Open(const std::stop_token& stop);

  const StreamConfig& config() const override { return options_.config; }
  std::shared_ptr<const pipeline::LearnerDescription> learner() const override {
    return learner_->description();
  }
  const pipeline::Resumption& resumption() const override { return learner_->resumption(); }
  PredictionRing& ring() override { return ring_; }
  StreamSnapshot Snapshot() const override;
  std::vector<pipeline::GpuMemory> gpu_memory() const override { return learner_->gpu_memory(); }
  std::shared_ptr<ingest::PushEntry> push_entry() override { return source_->push_entry(); }
  absl::Status TakesLabels() const override;
  absl::Status Label(std::int64_t frame_number, const ClientLabel& label) override;
  absl::Status SetMode(LearnerState mode) override;
  absl::Status Change(const LearnerChange& change) override;
  void WriteCheckpoint(const std::stop_token& stop, OnCheckpoint done) override;
  absl::Status ReplaceSource(const ingest::SourceOptions& source) override
      ABSL_LOCKS_EXCLUDED(replacing_);
  int pictures_per_sample() const override {
    if (labels_ != nullptr) return 1;
    return next_frame() ? 3 : 2;
  }
  absl::StatusOr<Prediction> Predict(
      std::span<const std::shared_ptr<const ingest::Picture>> pictures) override;
  std::vector<pipeline::PastOperation> OperationsSince(
      std::chrono::nanoseconds since) const override {
    return learner_->OperationsSince(since);
  }
  bool running() const override { return lifecycle_.phase() == LearnerLifecycle::Phase::kRunning; }
  bool ended() const override { return lifecycle_.phase() == LearnerLifecycle::Phase::kEnded; }
  void Stop() override;

 private:
  [[nodiscard]] absl::Status OpenParts(const std::stop_token& stop);
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ingest::Source>> OpenSource(
      ingest::SourceOptions source, ActiveSourceState::Number number);
  void GoOnFrom(const pipeline::Resumption& resumption);
  void OpenLabels();
  void SetPace(const ingest::SourceOptions& source);
  void LogRollBacks();
  void ReportGivingUp();
  void EvaluateOverload(nanoseconds now, StreamSnapshot& snapshot) const;

  // On the learner's thread.
  void Run();
  void AwaitRoom();
  void Handle(const ingest::Frame& frame);
  [[nodiscard]] std::optional<DropReason> WhyDropped(const ingest::Frame& frame) const;
  [[nodiscard]] absl::Status Admit(const ingest::Frame& frame);
  void FailLearner(const absl::Status& cause);
  void OnFailure(const absl::Status& cause);
  void DropInFlight();
  void ReportInterruption();
  void Finish();

  // On a thread of the learner.
  void OnPrediction(pipeline::ModelPrediction model);
  [[nodiscard]] PredictionContext ContextOf(const pipeline::ModelPrediction& model) const;

  /// Thread-safe.
  [[nodiscard]] pipeline::SourcePosition position() const {
    return {.frames = frames_, .epochs = epochs_};
  }
  /// The requested mode; kGivenUp if kLearning was requested and learning was given up. Unless it
  /// is paused, kWaitingForRanks while hosts are missing.
  [[nodiscard]] LearnerState Mode() const;
  /// OK while it learns, so that weights can be validated; else FAILED_PRECONDITION with the cause.
  [[nodiscard]] absl::Status Learning() const;
  /// Whether the learner waits for processes on other hosts. Thread-safe.
  [[nodiscard]] bool Interrupted() const;
  [[nodiscard]] bool next_frame() const { return options_.config.flow.next_frame; }

  // Constant after construction.
  const Options options_;

  // Self-synchronized.
  PredictionRing ring_;
  FrameLedger ledger_;
  FramesInFlight in_flight_;
  RecentStats stats_;
  std::atomic<bool> stopping_ = false;
  ActiveSourceState source_state_;
  LearnerControls controls_;
  LearnerLifecycle lifecycle_;
  CheckpointRequests checkpoints_;
  mutable OverloadWatch overload_;
  // Settings of the current source: whether its frames wait for the learner, and max_fps.
  std::atomic<bool> frames_wait_ = false;
  std::atomic<double> max_frames_per_second_ = 0;
  // Frames and epochs so far, over all processes, of the frames that have left the source's queue.
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::int64_t> epochs_ = 0;
  std::array<std::atomic<std::uint64_t>, pipeline::kSkipReasons> skipped_ = {};

  Mutex replacing_;  // Held while a source replaces another and its state reports begin.

  // Constant after Open(); self-synchronized. Their threads call into the members above.
  std::unique_ptr<FrameLabels> labels_;  // Null: it learns without labels.
  std::unique_ptr<pipeline::Learner> learner_;
  std::unique_ptr<ReplaceableSource> source_;

  // Used by the learner's thread only.
  std::int64_t roll_backs_logged_ = 0;
  bool gave_up_reported_ = false;
  bool interrupted_ = false;     // As last reported.
  std::int64_t ranks_lost_ = 0;  // As last reported.
  std::int64_t gaps_seen_ = 0;   // Up to the last admitted frame.
  std::int64_t size_changes_seen_ = 0;

  std::int64_t updates_at_start_ = 0;  // Of the stage with the fewest updates.

  // Present for the schedule auto, whose plan follows the camera's rate. Any other schedule stays
  // as configured.
  std::optional<RateKeeper> rate_;

  std::jthread thread_;
};

}  // namespace millrace::service
