#include "service/camera_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log_about.h"
#include "base/mutex.h"
#include "base/status.h"
#include "service/error_reason.h"
#include "service/frame_ledger.h"
#include "service/frames_in_flight.h"
#include "service/learner_controls.h"
#include "service/learner_life.h"
#include "service/pushed_frame.h"
#include "service/rate_keeper.h"
#include "service/recent_figures.h"
#include "service/seated_states.h"
#include "service/source_seat.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

/// With the stream's name in its words; what programs read of it stays.
absl::Status Named(const std::string& stream, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat("stream '", stream, "': ", status.message()));
  status.ForEachPayload([&named](absl::string_view url, const absl::Cord& payload) {
    named.SetPayload(url, payload);
  });
  return named;
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
        states_(options_.on_source_state),
        controls_(options_.config.name, options_.config.learner.learning.policy),
        life_(options_.config.name, options_.on_learner_state),
        checkpoints_(options_.config.name) {}
  ~RunningStream() override {
    if (thread_.joinable()) RunningStream::Stop();
  }

  /// To be called once, before anything else. Gives up once `stop` says so.
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
  std::vector<pipeline::PastOperation> OperationsSince(nanoseconds since) const override {
    return learner_->OperationsSince(since);
  }
  bool running() const override { return life_.phase() == LearnerLife::Phase::kRunning; }
  bool ended() const override { return life_.phase() == LearnerLife::Phase::kEnded; }
  void Stop() override;

 private:
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ingest::Source>> OpenSource(
      ingest::SourceOptions source, SeatedStates::Number number);
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
  void FailLearner(const absl::Status& cause);
  void Finish();

  // On a thread of the learner.
  void OnPrediction(pipeline::ModelPrediction model);
  [[nodiscard]] Prediction Describe(FrameInFlight in_flight, pipeline::ModelPrediction model,
                                    nanoseconds now) const;

  /// Thread-safe.
  [[nodiscard]] pipeline::SourcePosition position() const {
    return {.frames = frames_, .epochs = epochs_};
  }
  /// FAILED_PRECONDITION, saying why, unless it learns, so that weights can prove good.
  [[nodiscard]] absl::Status Learning() const;
  [[nodiscard]] bool next_frame() const { return options_.config.learner.next_frame; }

  // Constant after construction.
  const Options options_;

  // Self-synchronized.
  PredictionRing ring_;
  FrameLedger ledger_;
  FramesInFlight in_flight_;
  RecentFigures figures_;
  std::atomic<bool> stopping_ = false;
  SeatedStates states_;
  LearnerControls controls_;
  LearnerLife life_;
  CheckpointRequests checkpoints_;
  // Numbered so far, by all processes: of the frames that have left the source's queue.
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::int64_t> epochs_ = 0;
  std::array<std::atomic<std::uint64_t>, pipeline::kSkipReasons> skipped_ = {};

  Mutex replacing_;  // Held while a source takes the seat, and is heard from then on.

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

absl::Status RunningStream::Open(const std::stop_token& stop) {
  MILLRACE_CHECK(options_.make_learner && options_.open_source && options_.clock != nullptr);
  pipeline::FlowLearnerOptions learner = options_.config.learner;
  learner.stop = stop;
  learner.checkpoints.position = [this] { return position(); };
  learner.on_not_captured = [stream = options_.config.name](int stage, const std::string& why) {
    const LogAbout about(stream);
    spdlog::warn("stream '{}': stage {} is slower than it could be, kernel by kernel: {}", stream,
                 stage, why);
  };
  learner.checkpoints.on_write = [this](const pipeline::CheckpointWritten& written) {
    checkpoints_.OnWritten(written);
  };
  MILLRACE_ASSIGN_OR_RETURN(
      learner_, options_.make_learner(
                    learner, [this](pipeline::ModelPrediction m) { OnPrediction(std::move(m)); }));
  if (options_.admit) MILLRACE_RETURN_IF_ERROR(options_.admit(*learner_->description()));
  GoOnFrom(learner_->resumption());
  OpenLabels();
  const std::vector<std::int64_t> updates = learner_->updates();
  if (!updates.empty()) updates_at_start_ = *std::min_element(updates.begin(), updates.end());
  ingest::SourceOptions first = options_.config.source;
  first.stop = stop;
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<ingest::Source> source,
                            OpenSource(std::move(first), states_.Add()));
  source_ = std::make_unique<SourceSeat>(std::move(source), ShownUri(options_.config.source));
  if (options_.config.learner.schedule == "auto") {
    rate_.emplace(options_.config.name, *learner_);
  }
  life_.Begin();
  thread_ = std::jthread([this] { Run(); });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ingest::Source>> RunningStream::OpenSource(
    ingest::SourceOptions source, SeatedStates::Number number) {
  source.stream = options_.config.name;
  source.on_state = states_.Of(number);
  return options_.open_source(source);
}

void RunningStream::GoOnFrom(const pipeline::Resumption& resumption) {
  const LogAbout about(options_.config.name);
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
  snapshot.learner = life_.status();
  snapshot.learner_state = life_.StateIn(controls_.mode());
  snapshot.frames = ledger_.Audit(*source_, [this] {
    // In this order: a frame that goes from one to the other meanwhile is counted twice, not
    // missed.
    const std::size_t waiting = source_->waiting();
    return waiting + in_flight_.size();
  });
  const nanoseconds now = options_.clock->Now();
  const RecentFigures::Values figures = figures_.At(now, snapshot.frames.received);
  snapshot.frames_per_second_in = figures.frames_per_second_in;
  snapshot.predictions_per_second = figures.predictions_per_second;
  snapshot.delay_p50_s = figures.delay_p50_s;
  snapshot.delay_p99_s = figures.delay_p99_s;
  snapshot.loss = figures.loss;
  snapshot.loss_no_motion = figures.loss_no_motion;
  snapshot.loads = figures_.LoadsAt(now, learner_->worked());
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
    return Because("LEARNS_WITHOUT_LABELS", {{"stream", options_.config.name}},
                   absl::FailedPreconditionError(absl::StrCat(
                       "stream '", options_.config.name,
                       "' learns without labels; set model.task to classification or regression")));
  }
  return life_.Alive();
}

absl::Status RunningStream::SetMode(LearnerState mode) {
  MILLRACE_RETURN_IF_ERROR(life_.Change(mode, [&] { return controls_.SetMode(mode, *learner_); }));
  if (const absl::Status learning = Learning(); !learning.ok()) checkpoints_.GiveUp(learning);
  return absl::OkStatus();
}

absl::Status RunningStream::Change(const LearnerChange& change) {
  MILLRACE_RETURN_IF_ERROR(life_.Alive());
  return controls_.Change(change, *learner_);
}

absl::Status RunningStream::Learning() const {
  MILLRACE_RETURN_IF_ERROR(life_.Alive());
  const LearnerState mode = controls_.mode();
  if (mode == LearnerState::kLearning) return absl::OkStatus();
  const std::string state(Name(mode));
  return Because(
      "NOT_LEARNING", {{"stream", options_.config.name}, {"state", state}},
      absl::FailedPreconditionError(absl::StrCat(
          "the learner is ", state, ": no weights prove good meanwhile; resume it first")));
}

void RunningStream::WriteCheckpoint(const std::stop_token& stop, OnCheckpoint done) {
  if (const absl::Status learning = Learning(); !learning.ok()) return done(learning);
  checkpoints_.Ask(*learner_, stop, std::move(done));
  // It may have been told to stop learning after it was looked at, and before there was a wait.
  if (const absl::Status learning = Learning(); !learning.ok()) checkpoints_.GiveUp(learning);
}

absl::Status RunningStream::Label(std::int64_t frame_number, const ClientLabel& label) {
  MILLRACE_RETURN_IF_ERROR(TakesLabels());
  const auto received = static_cast<std::int64_t>(source_->received());
  return labels_->Add(frame_number, label, begin_.frames + received);
}

absl::Status RunningStream::ReplaceSource(const ingest::SourceOptions& source) {
  const SeatedStates::Number number = states_.Add();
  absl::StatusOr<std::unique_ptr<ingest::Source>> opened = OpenSource(source, number);
  absl::Status replaced = opened.status();
  if (opened.ok()) {
    const MutexLock lock(replacing_);
    replaced = source_->Replace(*std::move(opened), ShownUri(source));
    if (replaced.ok()) states_.Seat(number);
  }
  if (replaced.ok()) return replaced;
  states_.Forget(number);
  return Named(options_.config.name, replaced);
}

absl::StatusOr<Prediction> RunningStream::Predict(
    std::span<const std::shared_ptr<const ingest::Picture>> pictures) {
  if (const absl::Status alive = life_.status(); !alive.ok()) {
    return Because("LEARNER_FAILED", {{"stream", options_.config.name}},
                   absl::FailedPreconditionError(alive.message()));
  }
  const auto count = static_cast<std::size_t>(pictures_per_sample());
  MILLRACE_CHECK(pictures.size() == count);
  pipeline::PicturePair pair{.previous = {}, .current = pictures[count - 1]->rgb};
  if (count > 1) pair.previous = pictures[count - 2]->rgb;
  if (count > 2) pair.before = pictures[0]->rgb;
  MILLRACE_ASSIGN_OR_RETURN(pipeline::ModelPrediction model, learner_->Predict(pair));
  std::string best_class_name = labels_ != nullptr ? labels_->NameOf(model.best_class) : "";
  Prediction prediction;
  prediction.stream = options_.config.name;
  prediction.model = std::move(model);
  prediction.next_frame = next_frame();
  prediction.best_class_name = std::move(best_class_name);
  if (count > 1) prediction.previous = pictures[count - 2];
  prediction.picture = pictures[count - 1];
  return prediction;
}

void RunningStream::Stop() {
  stopping_ = true;
  source_->Stop();
  life_.AwaitEnd();
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
  if (stopping_ || controls_.mode() == LearnerState::kPaused || !life_.status().ok()) return;
  if (const absl::Status room = Guarded([this] { return learner_->AwaitRoom(); }); !room.ok()) {
    FailLearner(room);
  }
  LogRollBacks();
}

void RunningStream::LogRollBacks() {
  const pipeline::LearningFigures learning = learner_->learning();
  if (learning.roll_backs == roll_backs_logged_) return;
  roll_backs_logged_ = learning.roll_backs;
  const LogAbout about(options_.config.name);
  spdlog::warn(
      "stream '{}': the weights had gone wrong; it goes on from the last that were good, "
      "with {:.3g} of the learning rate",
      options_.config.name, learning.rate_scale);
}

void RunningStream::Handle(const ingest::Frame& frame) {
  frames_ = begin_.frames + frame.number + 1;
  epochs_ = begin_.epochs + frame.epoch + 1;
  figures_.RecordArrival(frame);
  figures_.RecordWork(learner_->worked(), options_.clock->Now());
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
  if (!life_.status().ok() || !FitsLearner(frame)) return DropReason::kRejected;
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

void RunningStream::FailLearner(const absl::Status& cause) {
  life_.Fail(cause);
  checkpoints_.Close(life_.Alive());
  // Once drained, no more predictions come: what is still inside gets none.
  Guarded([this] { return learner_->Drain(); }).IgnoreError();
  ledger_.Dropped(DropReason::kRejected, in_flight_.Clear());
  if (labels_ != nullptr) labels_->Finish();
}

void RunningStream::Finish() {
  // Asked to stop from here on, it has ended by itself all the same.
  const auto phase = stopping_ ? LearnerLife::Phase::kStopped : LearnerLife::Phase::kEnded;
  absl::Status drained = Guarded([this] { return learner_->Drain(); });
  if (labels_ != nullptr) labels_->Finish();
  const std::size_t without_prediction = in_flight_.Clear();
  ledger_.Dropped(DropReason::kRejected, without_prediction);
  if (drained.ok() && without_prediction > 0) {
    drained = absl::InternalError(
        absl::StrCat("the learner drained without predicting ", without_prediction, " samples"));
  }
  checkpoints_.Close(absl::CancelledError("the stream has ended meanwhile"));
  if (!drained.ok()) life_.Fail(drained);
  ring_.Close();
  life_.End(phase);
}

void RunningStream::OnPrediction(pipeline::ModelPrediction model) {
  std::optional<FrameInFlight> in_flight = in_flight_.Take(model.sample);
  if (!in_flight) return;  // Given up when the learner failed, and counted then.
  // It has left those in flight: whatever throws from here on, it is counted.
  ledger_.Predicted();
  if (labels_ != nullptr) labels_->OnPrediction(model);
  if (model.drift) {
    const LogAbout about(options_.config.name);
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

}  // namespace

absl::StatusOr<std::unique_ptr<CameraStream>> CameraStream::Start(Options options) {
  const std::stop_token stop = options.config.learner.stop;
  options.config = WithoutTokens(std::move(options.config));
  auto stream = std::make_unique<RunningStream>(std::move(options));
  if (absl::Status opened = stream->Open(stop); !opened.ok()) {
    return Named(stream->config().name, opened);
  }
  return stream;
}

}  // namespace millrace::service
