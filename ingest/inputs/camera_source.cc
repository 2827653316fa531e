#include "ingest/inputs/camera_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/exception_to_status.h"
#include "ingest/frame/rate_limit.h"
#include "ingest/inputs/new_pipeline.h"
#include "ingest/source/abandoned_pipelines.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

PipelineOptions Owned(PipelineOptions pipeline, const SourceRequest& request) {
  pipeline.owner = OwnerOf(request);
  pipeline.end = request.settings.end;
  return pipeline;
}

}  // namespace

CameraSource::CameraSource(const SourceRequest& request, PipelineOptions pipeline)
    : shown_(request.shown),
      pipeline_options_(Owned(std::move(pipeline), request)),
      clock_(*request.settings.clock),
      pause_after_hanging_(request.settings.pause_after_hanging),
      pause_with_too_many_(request.settings.pause_with_too_many),
      feed_(clock_, static_cast<std::size_t>(request.options.queue_capacity),
            WhenFullOf(request.options), request.options.max_frames_per_second,
            FrameFeed::Times::kAndOfArrival),
      states_(shown_, StateLog::Kind::kCamera, request.options.on_state, request.options.stream),
      machine_(request.settings.limits, Backoff(request.settings.backoff, request.settings.seed)),
      lag_(KindOf(request.uri) == SourceKind::kTestPicture
               ? std::nullopt
               : std::optional(LagWatch(request.settings.lag_window))),
      supervisor_([this] { Supervise(); }) {}

CameraSource::~CameraSource() { Stop(); }

SourceStatus CameraSource::status() const {
  SourceStatus status;
  status.epoch = feed_.epoch();
  status.size_changes = feed_.size_changes();
  status.skipped = feed_.skipped();
  const std::optional<nanoseconds> interval = feed_.PictureInterval();
  MutexLock lock(mu_);
  status.state = states_.state();
  status.cause = Cause();
  status.entered = states_.entered();
  status.reconnects = std::max<std::int64_t>(0, machine_.sessions() - 1);
  if (format_.width > 0) {
    status.camera_width = format_.shown().width;
    status.camera_height = format_.shown().height;
  }
  status.camera_frames_per_second = format_.frames_per_second;
  if (format_.frames_per_second == 0 && interval) {
    status.camera_frames_per_second = 1 / std::chrono::duration<double>(*interval).count();
  }
  return status;
}

void CameraSource::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  wake_.notify_all();
  queue().Close();
  MutexLock lock(join_mu_);
  if (supervisor_.joinable()) supervisor_.join();
}

void CameraSource::OnFormat(const CameraFormat& format) {
  bool other_size = false;
  {
    MutexLock lock(mu_);
    other_size = !format.SameSize(format_);
    format_ = format;
    if (format.frames_per_second > 0) {
      machine_.ExpectFrameEvery(FrameInterval(format.frames_per_second));
    }
  }
  if (other_size) feed_.ChangeSize();
}

void CameraSource::OnPicture(DecodedPicture picture) {
  bool is_news = false;
  {
    MutexLock lock(mu_);
    const nanoseconds now = clock_.Now();
    machine_.OnFrame(now);
    TakeState();
    WatchLag(picture, now);
    is_news = states_.has_pending();
  }
  feed_.Take(std::move(picture));
  if (is_news) wake_.notify_all();  // The new lines must be logged before the next frame.
}

void CameraSource::WatchLag(const DecodedPicture& picture, nanoseconds now) {
  if (!lag_ || !picture.stream_time) return;
  const std::optional<LagWatch::Lag> lag = lag_->Take(*picture.stream_time, now);
  if (!lag) return;
  states_.Warn(absl::StrFormat(
      "its pictures are %.1f s late, and get later: it sends %.3g a second of %dx%d, and this "
      "machine decodes %.3g. Lower its resolution or rate, or take its smaller stream",
      std::chrono::duration<double>(lag->behind).count(), lag->sent, format_.shown().width,
      format_.shown().height, lag->decoded));
}

void CameraSource::OnWarning(const absl::Status& warning) {
  MutexLock lock(mu_);
  warning_ = warning;
}

// A camera has no end, so an end of its stream is a failure. Its last warning is the cause.
void CameraSource::OnOutcome(absl::Status outcome) {
  {
    MutexLock lock(mu_);
    if (outcome.ok()) {
      outcome = absl::UnavailableError(absl::StrCat("the camera ended the stream",
                                                    warning_.ok() ? "" : ": ",
                                                    std::string(warning_.message())));
    }
    machine_.OnFailure(std::move(outcome));
  }
  wake_.notify_all();
}

absl::Status CameraSource::Cause() const {
  const absl::Status& cause = failure_.ok() ? machine_.cause() : failure_;
  if (cause.ok()) return cause;
  return {cause.code(), absl::StrCat(shown_, ": ", std::string(cause.message()))};
}

void CameraSource::Supervise() {
  const absl::Status stopped = ExceptionToStatus([this] { RunSessions(); }, "stopped for good: ");
  if (!stopped.ok()) Fail(stopped);
}

void CameraSource::RunSessions() {
  std::unique_ptr<PicturePipeline> pipeline;
  for (;;) {
    const std::optional<SessionMachine::Step> step = NextStep();
    states_.Log();
    if (!step.has_value()) break;
    if (*step == SessionMachine::Step::kBegin) {
      pipeline = BeginSession();
    } else {
      EndSession(std::exchange(pipeline, nullptr));
    }
  }
  EndSession(std::move(pipeline));
  {
    MutexLock lock(mu_);
    states_.Enter(SourceState::kStopped, absl::OkStatus());
  }
  states_.Log();
}

void CameraSource::Fail(const absl::Status& cause) {
  {
    MutexLock lock(mu_);
    failure_ = cause;
    states_.Enter(SourceState::kFailed, cause);
  }
  states_.Log();
  queue().Close();
}

std::optional<SessionMachine::Step> CameraSource::NextStep() {
  for (;;) {
    {
      MutexLock lock(mu_);
      if (stopping_) return std::nullopt;
      const nanoseconds now = clock_.Now();
      const SessionMachine::Decision decision = machine_.Decide(now);
      TakeState();
      if (decision.step != SessionMachine::Step::kWait) return decision.step;
      if (!states_.has_pending()) wake_.wait_for(mu_, decision.until - now);
    }
    states_.Log();
  }
}

void CameraSource::TakeState() {
  for (const SessionMachine::Transition& transition : machine_.TakeTransitions()) {
    states_.Enter(transition.to, transition.cause);
  }
  if (machine_.holds()) states_.Hold();
}

std::unique_ptr<PicturePipeline> CameraSource::BeginSession() {
  {
    MutexLock lock(mu_);
    warning_ = absl::OkStatus();
    if (lag_) lag_->Restart();
  }
  feed_.BeginEpoch();
  absl::StatusOr<std::unique_ptr<PicturePipeline>> pipeline = NewPipeline(pipeline_options_, *this);
  if (!pipeline.ok()) {
    OnOutcome(pipeline.status());
    if (absl::IsResourceExhausted(pipeline.status())) {
      MutexLock lock(mu_);
      machine_.HoldOff(clock_.Now() + pause_with_too_many_);
    }
    return nullptr;
  }
  (*pipeline)->Play();
  return *std::move(pipeline);
}

void CameraSource::EndSession(std::unique_ptr<PicturePipeline> pipeline) {
  if (pipeline == nullptr || pipeline->End()) return;
  const std::int64_t hanging = HangingOf(pipeline_options_.owner);
  MutexLock lock(mu_);
  machine_.HoldOff(clock_.Now() + hanging * pause_after_hanging_);
}

absl::StatusOr<std::unique_ptr<Source>> OpenCamera(const SourceRequest& request,
                                                   PipelineOptions pipeline) {
  if (absl::Status checked = GstPicturePipeline::Check(pipeline); !checked.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(request.shown, ": ", std::string(checked.message())));
  }
  return std::make_unique<CameraSource>(request, std::move(pipeline));
}

}  // namespace millrace::ingest
