#include "service/stream/running_stream.h"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/error_reason.h"
#include "base/exception_to_status.h"
#include "base/log_about.h"
#include "base/plural.h"
#include "base/status.h"
#include "service/frames/pushed_frame.h"
#include "service/stream/weights_origin.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

/// Adds the stream's name to the message, and keeps the payloads.
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

/// The result of a call of the learner, whose libraries may throw.
template <typename Call>
absl::Status CallLearner(const Call& call) {
  return ExceptionToStatus(call, "the learner threw: ");
}

// While hosts are missing.
constexpr std::chrono::milliseconds kBetweenTries{20};

std::string NameOf(const std::string& checkpoint) {
  return std::filesystem::path(checkpoint).filename().string();
}

}  // namespace

absl::Status RunningStream::Open(const std::stop_token& stop) {
  absl::Status opened = OpenParts(stop);
  if (!opened.ok()) return Named(options_.config.name, opened);
  return opened;
}

absl::Status RunningStream::OpenParts(const std::stop_token& stop) {
  MILLRACE_CHECK(options_.make_learner && options_.open_source && options_.clock != nullptr);
  pipeline::LearnerHooks hooks;
  hooks.stop = stop;
  hooks.position = [this] { return position(); };
  hooks.on_not_captured = [stream = options_.config.name](int stage, const std::string& why) {
    const LogAbout about(stream);
    spdlog::warn("stream '{}': stage {} is slower than it could be, kernel by kernel: {}", stream,
                 stage, why);
  };
  hooks.on_write = [this](const pipeline::CheckpointWritten& written) {
    checkpoints_.OnWritten(written);
  };
  MILLRACE_ASSIGN_OR_RETURN(
      learner_, options_.make_learner(
                    options_.config,
                    [this](pipeline::ModelPrediction m) { OnPrediction(std::move(m)); }, hooks));
  if (options_.admit) MILLRACE_RETURN_IF_ERROR(options_.admit(*learner_->description()));
  GoOnFrom(learner_->resumption());
  OpenLabels();
  const std::vector<std::int64_t> updates = learner_->updates();
  if (!updates.empty()) updates_at_start_ = *std::min_element(updates.begin(), updates.end());
  ingest::SourceOptions first = options_.config.source;
  first.stop = stop;
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<ingest::Source> source,
                            OpenSource(std::move(first), source_state_.Add()));
  source_ = std::make_unique<ReplaceableSource>(std::move(source), ShownUri(options_.config.source),
                                                learner_->resumption().position);
  SetPace(options_.config.source);
  const pipeline::LearnerOptions& planned = options_.config.learner;
  if (planned.schedule == "auto") {
    std::optional<CameraRate> camera;
    if (options_.config.follows_camera) camera.emplace(planned.frames_per_second);
    rate_.emplace(options_.config.name, *learner_, camera);
  }
  lifecycle_.Begin();
  thread_ = std::jthread([this] { Run(); });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ingest::Source>> RunningStream::OpenSource(
    ingest::SourceOptions source, ActiveSourceState::Number number) {
  source.stream = options_.config.name;
  source.on_state = source_state_.ReporterOf(number);
  return options_.open_source(source);
}

void RunningStream::GoOnFrom(const pipeline::Resumption& resumption) {
  const LogAbout about(options_.config.name);
  const std::string begins = resumption.checkpoint.empty()
                                 ? absl::StrCat("starts from ", DescribeOrigin(options_.config))
                                 : absl::StrCat("resumes from ", NameOf(resumption.checkpoint));
  if (!resumption.refused.empty()) {  // One line, because the log merges repeated lines.
    spdlog::warn("stream '{}': {}; the model {}", options_.config.name,
                 absl::StrJoin(resumption.refused, "; ",
                               [](std::string* out, const absl::Status& refused) {
                                 absl::StrAppend(out, refused.message());
                               }),
                 begins);
  }
  if (const std::string& other = resumption.other_optimizer; !other.empty()) {
    spdlog::info("stream '{}': {}, whose optimizer was {}: the optimizer's state is empty",
                 options_.config.name, begins, other);
  }
  in_flight_.StartAt(resumption.first_sample);
  frames_ = resumption.position.frames;
  epochs_ = resumption.position.epochs;
}

void RunningStream::OpenLabels() {
  const std::optional<pipeline::LabelledTask> task = learner_->description()->labels;
  if (!task) return;
  labels_ = std::make_unique<FrameLabels>(
      *task,
      [this](std::int64_t sample, const pipeline::SampleLabel& label) {
        return learner_->Label(sample, label);
      },
      learner_->resumption().position.frames);
}

StreamSnapshot RunningStream::Snapshot() const {
  StreamSnapshot snapshot;
  snapshot.name = options_.config.name;
  snapshot.uri = source_->uri();
  snapshot.source = source_->status();
  snapshot.learner = lifecycle_.status();
  snapshot.learner_state = lifecycle_.StateIn(Mode());
  snapshot.frames = ledger_.Audit(*source_, [this] {
    // The queue is read first: a frame that moves to the learner meanwhile is counted twice, but
    // never missed.
    const std::size_t waiting = source_->waiting();
    return waiting + in_flight_.size();
  });
  const nanoseconds now = options_.clock->Now();
  const RecentStats::Values stats = stats_.At(now, source_->next_number());
  snapshot.frames_per_second_in = stats.frames_per_second_in;
  snapshot.predictions_per_second = stats.predictions_per_second;
  snapshot.delay_p50_s = stats.delay_p50_s;
  snapshot.delay_p99_s = stats.delay_p99_s;
  snapshot.recent = stats.learning;
  snapshot.loads = stats_.LoadsAt(now, learner_->worked());
  snapshot.updates = learner_->updates();
  snapshot.learning_rate = learner_->learning_rate();
  snapshot.policy = controls_.policy();
  snapshot.optimizer = controls_.optimizer();
  snapshot.updates_at_start = updates_at_start_;
  for (std::size_t i = 0; i < skipped_.size(); ++i) snapshot.skipped[i] = skipped_[i];
  snapshot.learning = learner_->learning();
  snapshot.interruption = learner_->interruption();
  snapshot.ranks = learner_->ranks();
  if (snapshot.ranks) snapshot.links = stats_.LinkLoadsAt(now, snapshot.ranks->links);
  if (labels_ != nullptr) snapshot.labels = labels_->counts();
  snapshot.update_every = rate_ ? rate_->update_every() : learner_->description()->update_every;
  EvaluateOverload(now, snapshot);
  return snapshot;
}

void RunningStream::EvaluateOverload(nanoseconds now, StreamSnapshot& snapshot) const {
  const std::shared_ptr<const pipeline::LearnerDescription> learner = learner_->description();
  const FrameCounts& frames = snapshot.frames;
  // The announced rate may be another one than the rate that the plan follows.
  const std::optional<pipeline::RatePlan>& plan = learner->rate_plan;
  const double camera = options_.config.follows_camera && plan.has_value()
                            ? plan->frames_per_second
                            : snapshot.source.camera_frames_per_second;
  const bool learns = snapshot.learner_state == LearnerState::kLearning;
  const bool predicts = learns || snapshot.learner_state == LearnerState::kFrozen ||
                        snapshot.learner_state == LearnerState::kGivenUp;
  const OverloadReading reading = {
      .now = now,
      .received = frames.received,
      .predicted = frames.predicted,
      .pushed_out = frames.dropped[static_cast<std::size_t>(DropReason::kQueueFull)],
      .working =
          predicts && !frames_wait_ && snapshot.source.state == ingest::SourceState::kStreaming,
      .update_every = learns ? snapshot.update_every : 1,
      .delay_s = snapshot.delay_p50_s,
      .promise = PromiseOf(*learner, camera, max_frames_per_second_)};
  const OverloadWatch::Verdict verdict = overload_.Look({.reading = reading,
                                                         .config = options_.config,
                                                         .learner = *learner,
                                                         .loads = snapshot.loads,
                                                         .links = snapshot.links});
  snapshot.overload = verdict.overload;
  snapshot.promise = verdict.promise;
}

void RunningStream::SetPace(const ingest::SourceOptions& source) {
  frames_wait_ = ingest::WhenFullOf(source) == ingest::WhenFull::kWait;
  max_frames_per_second_ = source.max_frames_per_second;
}

absl::Status RunningStream::TakesLabels() const {
  if (labels_ == nullptr) {
    return WithReason(
        "LEARNS_WITHOUT_LABELS", {{"stream", options_.config.name}},
        absl::FailedPreconditionError(absl::StrCat(
            "stream '", options_.config.name,
            "' learns without labels; set model.task to classification or regression")));
  }
  return lifecycle_.Alive();
}

LearnerState RunningStream::Mode() const {
  const LearnerState mode = controls_.mode();
  if (mode != LearnerState::kPaused && !learner_->interruption().ok()) {
    return LearnerState::kWaitingForRanks;
  }
  const bool gave_up = mode == LearnerState::kLearning && learner_->learning().rate_scale == 0;
  return gave_up ? LearnerState::kGivenUp : mode;
}

absl::Status RunningStream::SetMode(LearnerState mode) {
  MILLRACE_RETURN_IF_ERROR(
      lifecycle_.Change(mode, [&] { return controls_.SetMode(mode, *learner_); }));
  // The change has reported the mode, which holds once the hosts are back.
  const LearnerState state = Mode();
  if (state == LearnerState::kWaitingForRanks) lifecycle_.Note(state, learner_->interruption());
  if (const absl::Status learning = Learning(); !learning.ok()) checkpoints_.GiveUp(learning);
  return absl::OkStatus();
}

absl::Status RunningStream::Change(const LearnerChange& change) {
  MILLRACE_RETURN_IF_ERROR(lifecycle_.Alive());
  return controls_.Change(change, *learner_);
}

absl::Status RunningStream::Learning() const {
  MILLRACE_RETURN_IF_ERROR(lifecycle_.Alive());
  const LearnerState mode = Mode();
  if (mode == LearnerState::kLearning) return absl::OkStatus();
  if (mode == LearnerState::kGivenUp) {
    return GivenUp(options_.config.name, options_.config.learner.optimizer.kind,
                   learner_->learning_rate());
  }
  const std::string state(Name(mode));
  if (mode == LearnerState::kWaitingForRanks) {
    return WithReason("NOT_LEARNING", {{"stream", options_.config.name}, {"state", state}},
                      absl::FailedPreconditionError(absl::StrCat(
                          "no weights prove good now: ", learner_->interruption().message())));
  }
  return WithReason(
      "NOT_LEARNING", {{"stream", options_.config.name}, {"state", state}},
      absl::FailedPreconditionError(absl::StrCat(
          "the learner is ", state, ": no weights prove good meanwhile; resume it first")));
}

void RunningStream::WriteCheckpoint(const std::stop_token& stop, OnCheckpoint done) {
  if (const absl::Status learning = Learning(); !learning.ok()) return done(learning);
  checkpoints_.Ask(*learner_, stop, std::move(done));
  // Learning may have stopped after the first check and before the request waited.
  if (const absl::Status learning = Learning(); !learning.ok()) checkpoints_.GiveUp(learning);
}

absl::Status RunningStream::Label(std::int64_t frame_number, const ClientLabel& label) {
  MILLRACE_RETURN_IF_ERROR(TakesLabels());
  return labels_->Add(frame_number, label, source_->next_number());
}

absl::Status RunningStream::ReplaceSource(const ingest::SourceOptions& source) {
  const ActiveSourceState::Number number = source_state_.Add();
  absl::StatusOr<std::unique_ptr<ingest::Source>> opened = OpenSource(source, number);
  absl::Status replaced = opened.status();
  if (opened.ok()) {
    const MutexLock lock(replacing_);
    replaced = source_->Replace(*std::move(opened), ShownUri(source));
    if (replaced.ok()) {
      source_state_.Activate(number);
      SetPace(source);
    }
  }
  if (replaced.ok()) return replaced;
  source_state_.Forget(number);
  return Named(options_.config.name, replaced);
}

absl::StatusOr<Prediction> RunningStream::Predict(
    std::span<const std::shared_ptr<const ingest::Picture>> pictures) {
  if (const absl::Status alive = lifecycle_.status(); !alive.ok()) {
    return WithReason("LEARNER_FAILED", {{"stream", options_.config.name}},
                      absl::FailedPreconditionError(alive.message()));
  }
  MILLRACE_CHECK(pictures.size() == static_cast<std::size_t>(pictures_per_sample()));
  MILLRACE_ASSIGN_OR_RETURN(pipeline::ModelPrediction model,
                            learner_->Predict(PicturesOf(pictures)));
  PredictionContext context = ContextOf(model);
  return PredictionOf(pictures, std::move(model), std::move(context));
}

void RunningStream::Stop() {
  stopping_ = true;
  source_->Stop();
  lifecycle_.AwaitEnd();
}

void RunningStream::Run() {
  pthread_setname_np(pthread_self(), "learner");
  for (;;) {
    AwaitRoom();
    // Recorded frames wait until the learner goes on.
    while (Mode() == LearnerState::kWaitingForRanks && frames_wait_ && !stopping_ &&
           lifecycle_.status().ok()) {
      std::this_thread::sleep_for(kBetweenTries);
      AwaitRoom();
    }
    const std::optional<ingest::Frame> frame = source_->Pop();
    if (!frame.has_value()) break;
    if (Interrupted()) AwaitRoom();  // The last try may be long ago.
    const absl::Status handled = CallLearner([&] { Handle(*frame); });
    if (handled.ok()) continue;
    ledger_.Dropped(DropReason::kRejected);
    FailLearner(handled);
  }
  Finish();
}

// A frame waits in the queue, where a newer one can replace it, until the learner has room.
void RunningStream::AwaitRoom() {
  if (stopping_ || controls_.mode() == LearnerState::kPaused || !lifecycle_.status().ok()) return;
  if (const absl::Status room = CallLearner([this] { return learner_->AwaitRoom(); }); !room.ok()) {
    OnFailure(room);
  }
  ReportInterruption();
  LogRollBacks();
  ReportGivingUp();
}

void RunningStream::OnFailure(const absl::Status& cause) {
  if (Interrupted()) {
    DropInFlight();
  } else {
    FailLearner(cause);
  }
}

bool RunningStream::Interrupted() const { return !learner_->interruption().ok(); }

void RunningStream::DropInFlight() {
  for (const FrameInFlight& lost : in_flight_.Clear()) {
    ledger_.Dropped(DropReason::kRanksLost);
    PushedFrame* const pushed = PushedFrameOf(lost.frame.loss_observer);
    if (pushed != nullptr) pushed->Dropped(DropReason::kRanksLost);
  }
}

void RunningStream::ReportInterruption() {
  const absl::Status cause = learner_->interruption();
  const std::optional<pipeline::RankFigures> ranks = learner_->ranks();
  if (!ranks) return;
  const bool was_interrupted = std::exchange(interrupted_, !cause.ok());
  const std::int64_t lost_before = std::exchange(ranks_lost_, ranks->lost);
  if (was_interrupted == interrupted_ && lost_before == ranks_lost_) return;
  lifecycle_.Note(Mode(), cause);
  const LogAbout about(options_.config.name);
  if (cause.ok()) {
    spdlog::info("stream '{}': all hosts have joined; it learns", options_.config.name);
    return;
  }
  checkpoints_.GiveUp(Learning());
  // At the start, the one who gathers them logs it.
  if (ranks_lost_ == 0) return;
  spdlog::warn("stream '{}': {}", options_.config.name, std::string(cause.message()));
}

void RunningStream::LogRollBacks() {
  const pipeline::LearningFigures learning = learner_->learning();
  if (learning.roll_backs == roll_backs_logged_) return;
  roll_backs_logged_ = learning.roll_backs;
  if (learning.rate_scale == 0) return;  // ReportGivingUp() logs it.
  const LogAbout about(options_.config.name);
  const std::string advice =
      RateAdvice(options_.config.learner.optimizer.kind, learner_->learning_rate());
  spdlog::warn(
      "stream '{}': the weights had gone wrong; it resumes from the last good weights, "
      "with {:.3g} of the learning rate{}{}",
      options_.config.name, learning.rate_scale, advice.empty() ? "" : "; ", advice);
}

void RunningStream::ReportGivingUp() {
  if (Interrupted()) return;
  const LearnerState mode = Mode();
  const bool gave_up = mode == LearnerState::kGivenUp;
  if (std::exchange(gave_up_reported_, gave_up) == gave_up) return;
  const absl::Status cause =
      gave_up ? GivenUp(options_.config.name, options_.config.learner.optimizer.kind,
                        learner_->learning_rate())
              : absl::OkStatus();
  lifecycle_.Note(mode, cause);
  if (!gave_up) return;
  checkpoints_.GiveUp(cause);
  const LogAbout about(options_.config.name);
  spdlog::error("stream '{}': {}", options_.config.name, std::string(cause.message()));
}

void RunningStream::Handle(const ingest::Frame& frame) {
  frames_ = frame.number + 1;
  epochs_ = frame.epoch + 1;
  stats_.RecordArrival(frame);
  const nanoseconds now = options_.clock->Now();
  stats_.RecordWork(learner_->worked(), now);
  if (const auto ranks = learner_->ranks()) stats_.RecordLinks(ranks->links, now);
  if (rate_) {
    const auto pace = frames_wait_ ? RateKeeper::Pace::kOfLearner : RateKeeper::Pace::kOfCamera;
    rate_->OnFrame(frame, source_->dropped(), pace);
  }
  PushedFrame* const pushed = PushedFrameOf(frame.loss_observer);
  if (pushed != nullptr) pushed->Numbered(frame.number);
  if (const std::optional<DropReason> reason = WhyDropped(frame)) {
    ledger_.Dropped(*reason);
    if (pushed != nullptr) pushed->Dropped(*reason);
    return;
  }
  // Before the admission, so that the label is never too late.
  if (pushed != nullptr) {
    if (const auto& label = pushed->label()) pushed->Labelled(Label(frame.number, *label));
  }
  const absl::Status admitted = Admit(frame);
  if (admitted.ok()) return;
  OnFailure(admitted);
  if (pushed != nullptr && Interrupted()) pushed->Dropped(DropReason::kRanksLost);
}

std::optional<DropReason> RunningStream::WhyDropped(const ingest::Frame& frame) const {
  if (stopping_) return DropReason::kShutdown;
  if (controls_.mode() == LearnerState::kPaused) return DropReason::kPaused;
  if (Interrupted()) return DropReason::kRanksLost;
  if (labels_ == nullptr) {
    if (frame.predecessor == ingest::NoPredecessor::kGap) return DropReason::kGap;
    if (!HasPictures(frame, pictures_per_sample())) return DropReason::kNoPredecessor;
  }
  if (!lifecycle_.status().ok() ||
      !FitsLearner(frame, pictures_per_sample(), *learner_->description())) {
    return DropReason::kRejected;
  }
  return std::nullopt;
}

absl::Status RunningStream::Admit(const ingest::Frame& frame) {
  const ingest::SourceStatus source = source_->status();
  const std::int64_t number = in_flight_.Add(
      {.frame = frame,
       .camera_width = source.camera_width,
       .camera_height = source.camera_height,
       .after_gap = frame.gaps > std::exchange(gaps_seen_, frame.gaps),
       .new_size = frame.size_changes > std::exchange(size_changes_seen_, frame.size_changes)});
  pipeline::Sample pictures = PicturesOf(frame, pictures_per_sample());
  if (labels_ != nullptr) pictures.label = labels_->Begin(frame.number, number);
  absl::Status admitted = CallLearner([&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(const std::int64_t sample, learner_->Admit(pictures));
    MILLRACE_CHECK(sample == number);
    return absl::OkStatus();
  });
  if (labels_ != nullptr) labels_->End(admitted.ok());
  if (admitted.ok()) return admitted;
  in_flight_.TakeBack();
  ledger_.Dropped(Interrupted() ? DropReason::kRanksLost : DropReason::kRejected);
  return admitted;
}

void RunningStream::FailLearner(const absl::Status& cause) {
  lifecycle_.Fail(cause);
  checkpoints_.Close(lifecycle_.Alive());
  // After Drain() no more predictions come: the frames still inside get none.
  CallLearner([this] { return learner_->Drain(); }).IgnoreError();
  ledger_.Dropped(DropReason::kRejected, in_flight_.Clear().size());
  if (labels_ != nullptr) labels_->Finish();
}

void RunningStream::Finish() {
  // A request to stop after this line does not change the phase: the stream has ended by itself.
  const auto phase =
      stopping_ ? LearnerLifecycle::Phase::kStopped : LearnerLifecycle::Phase::kEnded;
  absl::Status drained = CallLearner([this] { return learner_->Drain(); });
  if (labels_ != nullptr) labels_->Finish();
  if (Interrupted()) DropInFlight();
  const std::size_t without_prediction = in_flight_.Clear().size();
  ledger_.Dropped(DropReason::kRejected, without_prediction);
  if (drained.ok() && without_prediction > 0) {
    drained = absl::InternalError(absl::StrCat("the learner drained without predicting ",
                                               Plural(without_prediction, "sample")));
  }
  checkpoints_.Close(absl::CancelledError("the stream has ended meanwhile"));
  if (!drained.ok()) lifecycle_.Fail(drained);
  ring_.Close();
  lifecycle_.End(phase);
}

void RunningStream::OnPrediction(pipeline::ModelPrediction model) {
  std::optional<FrameInFlight> in_flight = in_flight_.Take(model.sample);
  if (!in_flight) return;  // The learner failed, and the frame was counted then.
  // The frame is no longer in flight, so it is counted before any later exception.
  ledger_.Predicted();
  if (labels_ != nullptr) labels_->OnPrediction(model);
  if (model.drift) {
    const LogAbout about(options_.config.name);
    spdlog::info("stream '{}': the loss has risen for good: the camera shows something else",
                 options_.config.name);
  }
  if (model.skipped != pipeline::SkipReason::kNone) ++skipped_[static_cast<int>(model.skipped)];
  const nanoseconds now = options_.clock->Now();
  const std::shared_ptr<ingest::FrameLossObserver> loss_observer = in_flight->frame.loss_observer;
  PredictionContext context = ContextOf(model);
  Prediction described = PredictionOf(*std::move(in_flight), std::move(model), std::move(context),
                                      {.now = now, .next_number = source_->next_number()});
  if (options_.compare) options_.compare(described);
  auto prediction = std::make_shared<const Prediction>(std::move(described));
  stats_.RecordPrediction(*prediction, now);
  if (options_.observe) options_.observe(*prediction);
  ring_.Publish(prediction);
  PushedFrame* const pushed = PushedFrameOf(loss_observer);
  if (pushed != nullptr) pushed->Predicted(std::move(prediction));
}

PredictionContext RunningStream::ContextOf(const pipeline::ModelPrediction& model) const {
  return {.stream = options_.config.name,
          .next_frame = next_frame(),
          .best_class_name = labels_ != nullptr ? labels_->NameOf(model.best_class) : ""};
}

}  // namespace millrace::service
