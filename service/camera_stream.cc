#include "service/camera_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status.h"
#include "service/checkpoint_requests.h"
#include "service/frame_ledger.h"
#include "service/frames_in_flight.h"
#include "service/learner_controls.h"
#include "service/pushed_frame.h"
#include "service/rate_keeper.h"
#include "service/recent_figures.h"
#include "service/source_seat.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

absl::Status Named(const std::string& stream, const absl::Status& status) {
  return {status.code(), absl::StrCat("stream '", stream, "': ", status.message())};
}

std::string ShownUri(const ingest::SourceOptions& source) {
  return ingest::WithoutCredentials(source.uri);
}

/// Runs `call`, which may throw what foreign libraries throw, and returns its status.
template <typename Call>
absl::Status Guarded(Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the learner threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("the learner threw something that is no std::exception");
  }
}

// The life of a frame: every arrow is counted once, and where it ends nothing else follows.
//
//   source ─▶ queue ─▶ learner's thread ─▶ learner ─▶ predicted
//               │            │                │
//               ▼            ▼                ▼
//          queue_full   no_predecessor     rejected (the learner failed)
//          shutdown     gap, rejected,
//                       shutdown
//
// Where it learns from labels, a frame needs no predecessor: neither reason comes up.
class RunningStream final : public CameraStream {
 public:
  explicit RunningStream(Options options)
      : options_(std::move(options)),
        ring_(options_.ring_capacity),
        controls_(options_.config.name, options_.config.learner.learning.policy),
        checkpoints_(options_.config.name) {}
  ~RunningStream() override {
    if (thread_.joinable()) RunningStream::Stop();
  }

  /// To be called once, before anything else.
  absl::Status Open();

  const StreamConfig& config() const override { return options_.config; }
  std::shared_ptr<const pipeline::LearnerDescription> learner() const override {
    return learner_->description();
  }
  const pipeline::Resumption& resumption() const override { return learner_->resumption(); }
  PredictionRing& ring() override { return ring_; }
  StreamSnapshot Snapshot() const override;
  std::shared_ptr<ingest::PushEntry> push_entry() override { return source_->push_entry(); }
  absl::Status TakesLabels() const override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Label(std::int64_t frame_number, const ClientLabel& label) override;
  absl::Status SetMode(LearnerState mode) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Change(const LearnerChange& change) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status WriteCheckpoint(const std::stop_token& stop) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status ReplaceSource(const ingest::SourceOptions& source) override;
  bool ended() const override ABSL_LOCKS_EXCLUDED(mu_);
  void Stop() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  enum class Phase { kRunning, kEnded, kStopped };

  [[nodiscard]] absl::StatusOr<std::unique_ptr<ingest::Source>> OpenSource(
      ingest::SourceOptions source);
  void TellLearner(LearnerState state, const absl::Status& cause) const;
  void GoOnFrom(const pipeline::Resumption& resumption);
  void OpenLabels();
  void LogRollBacks();

  // On the learner's thread.
  void Run();
  void AwaitRoom();
  void Handle(const ingest::Frame& frame);
  [[nodiscard]] std::optional<DropReason> WhyDropped(const ingest::Frame& frame) const;
  [[nodiscard]] bool FitsLearner(const ingest::Frame& frame) const;
  [[nodiscard]] pipeline::PicturePair PicturesOf(const ingest::Frame& frame) const;
  [[nodiscard]] absl::Status Admit(const ingest::Frame& frame);
  void FailLearner(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);
  /// Keeps and logs the first cause; later ones follow from it.
  void RecordFailure(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);
  void Finish() ABSL_LOCKS_EXCLUDED(mu_);

  // On a thread of the learner.
  void OnPrediction(pipeline::ModelPrediction model);
  [[nodiscard]] Prediction Describe(FrameInFlight in_flight, pipeline::ModelPrediction model,
                                    nanoseconds now) const;

  /// Thread-safe.
  [[nodiscard]] pipeline::SourcePosition position() const {
    return {.frames = frames_, .epochs = epochs_};
  }
  [[nodiscard]] absl::Status learner_status() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] LearnerState learner_state() const ABSL_LOCKS_EXCLUDED(mu_);
  /// FAILED_PRECONDITION, saying why, unless it still learns or could.
  [[nodiscard]] absl::Status Alive() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool next_frame() const { return options_.config.learner.next_frame; }

  // Constant after construction.
  const Options options_;

  // Self-synchronized.
  PredictionRing ring_;
  FrameLedger ledger_;
  FramesInFlight in_flight_;
  RecentFigures figures_;
  std::atomic<bool> stopping_ = false;
  LearnerControls controls_;
  CheckpointRequests checkpoints_;
  // Numbered so far, by all processes: of the frames that have left the source's queue.
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::int64_t> epochs_ = 0;
  std::array<std::atomic<std::uint64_t>, pipeline::kSkipReasons> skipped_ = {};

  mutable Mutex mu_;
  CondVar finished_;
  absl::Status learner_status_ ABSL_GUARDED_BY(mu_);
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kRunning;

  // Constant once open. What the source numbers from 0 goes on from here.
  pipeline::SourcePosition begin_;

  // Constant once open; self-synchronized. Their threads call into the members above.
  std::unique_ptr<FrameLabels> labels_;  // Null: it learns without.
  std::unique_ptr<pipeline::Learner> learner_;
  std::unique_ptr<SourceSeat> source_;

  // Of the learner's thread.
  std::int64_t roll_backs_logged_ = 0;
  std::int64_t gaps_seen_ = 0;  // Up to the frame admitted last.
  std::int64_t size_changes_seen_ = 0;

  std::int64_t updates_at_start_ = 0;  // Of the stage that had made the fewest.

  // Planned for a rate, the learner keeps that; any other schedule is kept as it was asked for.
  std::optional<RateKeeper> rate_;

  std::jthread thread_;
};

absl::Status RunningStream::Open() {
  MILLRACE_CHECK(options_.make_learner && options_.open_source && options_.clock != nullptr);
  pipeline::FlowLearnerOptions learner = options_.config.learner;
  learner.checkpoints.position = [this] { return position(); };
  learner.on_not_captured = [stream = options_.config.name](int stage, const std::string& why) {
    spdlog::warn("stream '{}': stage {} is slower than it could be, kernel by kernel: {}", stream,
                 stage, why);
  };
  learner.checkpoints.on_write = [this](const absl::Status& w) { checkpoints_.OnWritten(w); };
  MILLRACE_ASSIGN_OR_RETURN(
      learner_, options_.make_learner(
                    learner, [this](pipeline::ModelPrediction m) { OnPrediction(std::move(m)); }));
  GoOnFrom(learner_->resumption());
  OpenLabels();
  const std::vector<std::int64_t> updates = learner_->updates();
  if (!updates.empty()) updates_at_start_ = *std::min_element(updates.begin(), updates.end());
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<ingest::Source> source,
                            OpenSource(options_.config.source));
  source_ = std::make_unique<SourceSeat>(std::move(source), ShownUri(options_.config.source));
  if (options_.config.learner.schedule == "auto") {
    rate_.emplace(options_.config.name, *learner_);
  }
  TellLearner(LearnerState::kLearning, absl::OkStatus());
  thread_ = std::jthread([this] { Run(); });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ingest::Source>> RunningStream::OpenSource(
    ingest::SourceOptions source) {
  source.on_state = options_.on_source_state;
  return options_.open_source(source);
}

void RunningStream::TellLearner(LearnerState state, const absl::Status& cause) const {
  if (options_.on_learner_state) options_.on_learner_state(state, cause);
}

void RunningStream::GoOnFrom(const pipeline::Resumption& resumption) {
  for (const absl::Status& refused : resumption.refused) {
    spdlog::warn("stream '{}': passing over a checkpoint: {}", options_.config.name,
                 std::string(refused.message()));
  }
  in_flight_.StartAt(resumption.first_sample);
  begin_ = resumption.position;
  frames_ = begin_.frames;
  epochs_ = begin_.epochs;
}

void RunningStream::OpenLabels() {
  const std::optional<pipeline::LabelledTask> task = learner_->description()->labels;
  if (!task) return;
  labels_ = std::make_unique<FrameLabels>(
      *task,
      [this](std::int64_t sample, const pipeline::SampleLabel& label) {
        return learner_->Label(sample, label);
      },
      begin_.frames);
}

StreamSnapshot RunningStream::Snapshot() const {
  StreamSnapshot snapshot;
  snapshot.name = options_.config.name;
  snapshot.uri = source_->uri();
  snapshot.source = source_->status();
  snapshot.source.epoch += begin_.epochs;
  snapshot.learner = learner_status();
  snapshot.learner_state = learner_state();
  snapshot.frames = ledger_.Count(*source_);
  const RecentFigures::Values figures =
      figures_.At(options_.clock->Now(), snapshot.frames.received);
  snapshot.frames_per_second_in = figures.frames_per_second_in;
  snapshot.predictions_per_second = figures.predictions_per_second;
  snapshot.delay_p50_s = figures.delay_p50_s;
  snapshot.delay_p99_s = figures.delay_p99_s;
  snapshot.loss = figures.loss;
  snapshot.loss_no_motion = figures.loss_no_motion;
  snapshot.updates = learner_->updates();
  snapshot.learning_rate = learner_->learning_rate();
  snapshot.policy = controls_.policy();
  snapshot.updates_at_start = updates_at_start_;
  for (std::size_t i = 0; i < skipped_.size(); ++i) snapshot.skipped[i] = skipped_[i];
  snapshot.learning = learner_->learning();
  if (labels_ != nullptr) snapshot.labels = labels_->counts();
  snapshot.update_every = rate_ ? rate_->update_every() : learner_->description()->update_every;
  return snapshot;
}

absl::Status RunningStream::TakesLabels() const {
  if (labels_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("stream '", options_.config.name,
                     "' learns without labels; set model.task to classification or regression"));
  }
  return Alive();
}

absl::Status RunningStream::Alive() const {
  if (const absl::Status learner = learner_status(); !learner.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing is learned any more: ", learner.message()));
  }
  const MutexLock lock(mu_);
  if (phase_ != Phase::kRunning) {
    return absl::FailedPreconditionError(
        absl::StrCat("stream '", options_.config.name, "' has ended and learns no more"));
  }
  return absl::OkStatus();
}

absl::Status RunningStream::SetMode(LearnerState mode) {
  MILLRACE_RETURN_IF_ERROR(Alive());
  if (controls_.SetMode(mode, *learner_)) TellLearner(mode, absl::OkStatus());
  return absl::OkStatus();
}

absl::Status RunningStream::Change(const LearnerChange& change) {
  MILLRACE_RETURN_IF_ERROR(Alive());
  return controls_.Change(change, *learner_);
}

absl::Status RunningStream::WriteCheckpoint(const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(Alive());
  const LearnerState mode = controls_.mode();
  if (mode != LearnerState::kLearning) {
    return absl::FailedPreconditionError(
        absl::StrCat("the learner is ", std::string(Name(mode)),
                     ": no weights prove good meanwhile; resume it first"));
  }
  return checkpoints_.AskAndWait(*learner_, stop);
}

absl::Status RunningStream::Label(std::int64_t frame_number, const ClientLabel& label) {
  MILLRACE_RETURN_IF_ERROR(TakesLabels());
  const auto received = static_cast<std::int64_t>(source_->received());
  return labels_->Add(frame_number, label, begin_.frames + received);
}

absl::Status RunningStream::ReplaceSource(const ingest::SourceOptions& source) {
  absl::StatusOr<std::unique_ptr<ingest::Source>> opened = OpenSource(source);
  absl::Status replaced = opened.status();
  if (opened.ok()) replaced = source_->Replace(*std::move(opened), ShownUri(source));
  return replaced.ok() ? replaced : Named(options_.config.name, replaced);
}

bool RunningStream::ended() const {
  MutexLock lock(mu_);
  return phase_ == Phase::kEnded;
}

void RunningStream::Stop() {
  stopping_ = true;
  source_->Stop();
  MutexLock lock(mu_);
  while (phase_ == Phase::kRunning) finished_.wait(mu_);
}

void RunningStream::Run() {
  for (;;) {
    AwaitRoom();
    const std::optional<ingest::Frame> frame = source_->Pop();
    if (!frame.has_value()) break;
    const absl::Status handled = Guarded([&] {
      Handle(*frame);
      return absl::OkStatus();
    });
    if (handled.ok()) continue;
    ledger_.Dropped(DropReason::kRejected);
    FailLearner(handled);
  }
  Finish();
}

// A frame waits where a fresher one can replace it, until the learner has room for it.
void RunningStream::AwaitRoom() {
  if (stopping_ || controls_.mode() == LearnerState::kPaused || !learner_status().ok()) return;
  if (const absl::Status room = Guarded([this] { return learner_->AwaitRoom(); }); !room.ok()) {
    FailLearner(room);
  }
  LogRollBacks();
}

void RunningStream::LogRollBacks() {
  const pipeline::LearningFigures learning = learner_->learning();
  if (learning.roll_backs == roll_backs_logged_) return;
  roll_backs_logged_ = learning.roll_backs;
  spdlog::warn(
      "stream '{}': the weights had gone wrong; it goes on from the last that were good, "
      "with {:.3g} of the learning rate",
      options_.config.name, learning.rate_scale);
}

void RunningStream::Handle(const ingest::Frame& frame) {
  frames_ = begin_.frames + frame.number + 1;
  epochs_ = begin_.epochs + frame.epoch + 1;
  figures_.RecordArrival(frame);
  if (rate_) rate_->OnFrame(frame, source_->dropped());
  PushedFrame* const pushed = PushedFrameOf(frame.ticket);
  if (pushed != nullptr) pushed->Numbered(begin_.frames + frame.number);
  if (const std::optional<DropReason> reason = WhyDropped(frame)) {
    ledger_.Dropped(*reason);
    if (pushed != nullptr) pushed->Dropped(*reason);
    return;
  }
  // Before the frame is admitted: so it is never too late.
  if (pushed != nullptr && pushed->label()) {
    pushed->Labelled(Label(begin_.frames + frame.number, *pushed->label()));
  }
  if (absl::Status admitted = Admit(frame); !admitted.ok()) FailLearner(admitted);
}

std::optional<DropReason> RunningStream::WhyDropped(const ingest::Frame& frame) const {
  if (stopping_) return DropReason::kShutdown;
  if (controls_.mode() == LearnerState::kPaused) return DropReason::kPaused;
  if (labels_ == nullptr) {
    if (frame.predecessor == ingest::NoPredecessor::kGap) return DropReason::kGap;
    if (frame.previous == nullptr || (next_frame() && frame.before == nullptr)) {
      return DropReason::kNoPredecessor;
    }
  }
  if (!learner_status().ok() || !FitsLearner(frame)) return DropReason::kRejected;
  return std::nullopt;
}

bool RunningStream::FitsLearner(const ingest::Frame& frame) const {
  const auto learner = learner_->description();
  const auto fits = [&learner](const ingest::Picture& picture) {
    return picture.width == learner->width && picture.height == learner->height;
  };
  return fits(*frame.picture) && (frame.previous == nullptr || fits(*frame.previous)) &&
         (!next_frame() || fits(*frame.before));
}

pipeline::PicturePair RunningStream::PicturesOf(const ingest::Frame& frame) const {
  pipeline::PicturePair pictures{.previous = {}, .current = frame.picture->rgb};
  if (frame.previous != nullptr) pictures.previous = frame.previous->rgb;
  if (next_frame()) pictures.before = frame.before->rgb;
  return pictures;
}

absl::Status RunningStream::Admit(const ingest::Frame& frame) {
  const ingest::SourceStatus source = source_->status();
  const std::int64_t number = in_flight_.Add(
      {.frame = frame,
       .camera_width = source.camera_width,
       .camera_height = source.camera_height,
       .after_gap = frame.gaps > std::exchange(gaps_seen_, frame.gaps),
       .new_size = frame.size_changes > std::exchange(size_changes_seen_, frame.size_changes)});
  pipeline::PicturePair pair = PicturesOf(frame);
  if (labels_ != nullptr) pair.label = labels_->Begin(begin_.frames + frame.number, number);
  absl::Status admitted = Guarded([&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(const std::int64_t sample, learner_->Admit(pair));
    MILLRACE_CHECK(sample == number);
    return absl::OkStatus();
  });
  if (labels_ != nullptr) labels_->End(admitted.ok());
  if (admitted.ok()) return admitted;
  in_flight_.TakeBack();
  ledger_.Dropped(DropReason::kRejected);
  return admitted;
}

void RunningStream::RecordFailure(const absl::Status& cause) {
  const absl::Status named = Named(options_.config.name, cause);
  {
    MutexLock lock(mu_);
    if (!learner_status_.ok()) return;
    learner_status_ = named;
  }
  spdlog::error("{}; it predicts no more", std::string(named.message()));
  TellLearner(LearnerState::kFailed, named);
}

void RunningStream::FailLearner(const absl::Status& cause) {
  RecordFailure(cause);
  // Once drained, no more predictions come: what is still inside gets none.
  Guarded([this] { return learner_->Drain(); }).IgnoreError();
  ledger_.Dropped(DropReason::kRejected, in_flight_.Clear());
  if (labels_ != nullptr) labels_->Finish();
}

void RunningStream::Finish() {
  // Asked to stop from here on, it has ended by itself all the same.
  const Phase phase = stopping_ ? Phase::kStopped : Phase::kEnded;
  absl::Status drained = Guarded([this] { return learner_->Drain(); });
  if (labels_ != nullptr) labels_->Finish();
  const std::size_t without_prediction = in_flight_.Clear();
  ledger_.Dropped(DropReason::kRejected, without_prediction);
  if (drained.ok() && without_prediction > 0) {
    drained = absl::InternalError(
        absl::StrCat("the learner drained without predicting ", without_prediction, " samples"));
  }
  checkpoints_.Close();
  if (!drained.ok()) RecordFailure(drained);
  if (drained.ok()) TellLearner(LearnerState::kEnded, absl::OkStatus());
  ring_.Close();
  MutexLock lock(mu_);
  phase_ = phase;
  finished_.notify_all();
}

void RunningStream::OnPrediction(pipeline::ModelPrediction model) {
  std::optional<FrameInFlight> in_flight = in_flight_.Take(model.sample);
  if (!in_flight) return;  // Given up when the learner failed, and counted then.
  // It has left those in flight: whatever throws from here on, it is counted.
  ledger_.Predicted();
  if (labels_ != nullptr) labels_->OnPrediction(model);
  if (model.drift) {
    spdlog::info("stream '{}': the loss has risen for good: the camera shows something else",
                 options_.config.name);
  }
  if (model.skipped != pipeline::SkipReason::kNone) ++skipped_[static_cast<int>(model.skipped)];
  const nanoseconds now = options_.clock->Now();
  const std::shared_ptr<ingest::FrameTicket> ticket = in_flight->frame.ticket;
  Prediction described = Describe(*std::move(in_flight), std::move(model), now);
  if (options_.compare) described.comparison = options_.compare(described);
  auto prediction = std::make_shared<const Prediction>(std::move(described));
  figures_.RecordPrediction(*prediction, now);
  if (options_.observe) options_.observe(*prediction);
  ring_.Publish(prediction);
  if (PushedFrame* const pushed = PushedFrameOf(ticket)) pushed->Predicted(std::move(prediction));
}

Prediction RunningStream::Describe(FrameInFlight in_flight, pipeline::ModelPrediction model,
                                   nanoseconds now) const {
  ingest::Frame& frame = in_flight.frame;
  const auto received = static_cast<std::int64_t>(source_->received());
  const nanoseconds delay = now - frame.arrival;
  const nanoseconds wall = WallTime();
  std::string best_class_name = labels_ != nullptr ? labels_->NameOf(model.best_class) : "";
  return {.stream = options_.config.name,
          .epoch = begin_.epochs + frame.epoch,
          .frame_number = begin_.frames + frame.number,
          .stream_time = frame.stream_time,
          .camera_time = frame.camera_time,
          .arrival_time = wall - delay,
          .emission_time = wall,
          .delay = delay,
          .delay_frames = received - 1 - frame.number,
          .model = std::move(model),
          .next_frame = next_frame(),
          .best_class_name = std::move(best_class_name),
          .comparison = std::nullopt,
          .previous = std::move(frame.previous),
          .picture = std::move(frame.picture),
          .camera_width = in_flight.camera_width,
          .camera_height = in_flight.camera_height,
          .after_gap = in_flight.after_gap,
          .new_size = in_flight.new_size};
}

LearnerState RunningStream::learner_state() const {
  const MutexLock lock(mu_);
  if (!learner_status_.ok()) return LearnerState::kFailed;
  return phase_ == Phase::kRunning ? controls_.mode() : LearnerState::kEnded;
}

absl::Status RunningStream::learner_status() const {
  MutexLock lock(mu_);
  return learner_status_;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CameraStream>> CameraStream::Start(Options options) {
  auto stream = std::make_unique<RunningStream>(std::move(options));
  if (absl::Status opened = stream->Open(); !opened.ok()) {
    return Named(stream->config().name, opened);
  }
  return stream;
}

}  // namespace millrace::service
