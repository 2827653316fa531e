#include "service/serve.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/check.h"
#include "base/status.h"
#include "service/http_server.h"
#include "service/progress.h"
#include "service/serve_banner.h"
#include "service/summary.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::chrono::milliseconds kTerminalPause(500);
constexpr std::chrono::milliseconds kLogPause(5000);
// For subscribers to take what the rings still hold, once the streams have stopped.
constexpr std::chrono::milliseconds kGrpcGrace(700);

}  // namespace

Serve::Serve(Options options) : options_(std::move(options)) {
  MILLRACE_CHECK(options_.out != nullptr && options_.start_stream);
}

Serve::~Serve() = default;

absl::Status Serve::Run() {
  if (absl::Status started = Start(); !started.ok()) {
    Stop();
    return started;
  }
  if (!StopRequested()) {
    ShowBanner();
    WaitForEnd();
  }
  Stop();
  return Report();
}

void Serve::RequestStop() {
  stop_.request_stop();
  Wake();
}

// A start that a stop cut short has not failed.
absl::Status Serve::Start() {
  absl::Status started = StartStreams();
  if (started.ok() && !StopRequested()) started = StartServers();
  return StopRequested() && absl::IsCancelled(started) ? absl::OkStatus() : started;
}

absl::Status Serve::StartStreams() {
  std::vector<std::unique_ptr<CameraStream>> streams;
  streams.reserve(options_.config.streams.size());
  absl::Status started;
  for (const StreamConfig& config : options_.config.streams) {
    if (StopRequested()) break;
    absl::StatusOr<std::unique_ptr<CameraStream>> stream = StartStream(config);
    started = stream.status();
    if (!started.ok()) break;
    recorded_.push_back({.stream = stream->get(), .record = records_.back().get()});
    streams.push_back(*std::move(stream));
  }
  streams_ = std::make_unique<Streams>(std::move(streams));
  return started;
}

absl::StatusOr<std::unique_ptr<CameraStream>> Serve::StartStream(StreamConfig config) {
  config.learner.stop = config.source.stop = stop_.get_token();
  records_.push_back(
      std::make_unique<RunRecorder>(MonotonicClock(), start_,
                                    std::chrono::round<std::chrono::nanoseconds>(
                                        std::chrono::duration<double>(config.scores.window_s))));
  const auto observe = [this, record = records_.back().get()](const Prediction& prediction) {
    record->Record(prediction);
    if (record->predictions() == options_.frames) Wake();
  };
  return options_.start_stream(config, observe);
}

absl::Status Serve::StartServers() {
  const Listen& listen = options_.config.listen;
  MILLRACE_ASSIGN_OR_RETURN(
      grpc_, GrpcServer::Start({.address = listen.address, .port = listen.grpc_port}, *streams_));
  MILLRACE_ASSIGN_OR_RETURN(
      web_, ServeWeb::Start({.listen = listen, .streams = recorded_, .subscribers = [this] {
                               return ReadSubscribers();
                             }}));
  return absl::OkStatus();
}

std::vector<StreamSubscribers> Serve::ReadSubscribers() const {
  std::vector<StreamSubscribers> result;
  result.reserve(recorded_.size());
  for (const RecordedStream& recorded : recorded_) {
    const SubscriberCounts counts = grpc_->subscribers(*recorded.stream);
    result.push_back({.stream = recorded.stream->config().name,
                      .active = counts.active,
                      .predictions_sent = counts.sent,
                      .predictions_dropped = counts.dropped});
  }
  return result;
}

void Serve::ShowBanner() {
  std::vector<BannerStream> streams;
  streams.reserve(recorded_.size());
  for (const RecordedStream& recorded : recorded_) {
    streams.push_back({.config = recorded.stream->config(),
                       .snapshot = recorded.stream->Snapshot(),
                       .learner = *recorded.stream->learner(),
                       .resumption = recorded.stream->resumption()});
  }
  *options_.out << Banner(streams, {.page = web_->page_url(),
                                    .grpc = absl::StrCat(UrlHost(options_.config.listen.address),
                                                         ":", grpc_->port()),
                                    .metrics = web_->metrics_url()})
                << std::endl;
}

void Serve::WaitForEnd() {
  ProgressPrinter printer(*options_.out, options_.terminal);
  const auto show = [&] {
    if (!options_.progress) return;
    printer.Show(Snapshots(), options_.columns ? options_.columns() : kProgressColumns);
  };
  while (!Pause(options_.terminal ? kTerminalPause : kLogPause)) show();
  printer.Finish();
}

bool Serve::Pause(std::chrono::milliseconds pause) {
  // A file that ends wakes nobody: look at least once a second.
  const auto end = std::chrono::steady_clock::now() + pause;
  while (!TimeToEnd()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return false;
    MutexLock lock(mu_);
    if (!look_) {
      woken_.wait_until(mu_, std::min(end, now + std::chrono::seconds(1)));
    }
    look_ = false;
  }
  return true;
}

bool Serve::TimeToEnd() {
  return StopRequested() ||
         std::all_of(recorded_.begin(), recorded_.end(),
                     [this](const RecordedStream& recorded) { return StreamDone(recorded); });
}

void Serve::Wake() {
  {
    MutexLock lock(mu_);
    look_ = true;
  }
  woken_.notify_all();
}

bool Serve::StreamDone(const RecordedStream& recorded) const {
  const bool enough = options_.frames > 0 && recorded.record->predictions() >= options_.frames;
  // A model that failed predicts no more; Report() says why.
  const bool failed = options_.frames > 0 && !recorded.stream->Snapshot().learner.ok();
  return enough || failed || recorded.stream->ended();
}

void Serve::Stop() {
  if (web_ != nullptr) web_->BeginStop();
  if (grpc_ != nullptr) grpc_->Drain();
  streams_->Stop();
  if (grpc_ != nullptr) grpc_->Shutdown(kGrpcGrace);
}

absl::Status Serve::Report() {
  std::vector<StreamSummary> summaries;
  summaries.reserve(recorded_.size());
  absl::Status failure;
  for (const RecordedStream& recorded : recorded_) {
    summaries.push_back(Summarise(recorded));
    const StreamSnapshot& snapshot = summaries.back().snapshot;
    if (!snapshot.learner.ok()) failure.Update(snapshot.learner);
    if (snapshot.source.state == ingest::SourceState::kFailed) {
      failure.Update(snapshot.source.cause);
    }
  }
  *options_.out << "\n" << SummaryText(summaries) << std::flush;
  if (!options_.summary_json.empty()) {
    MILLRACE_RETURN_IF_ERROR(
        WriteFileAtomically(options_.summary_json, SummaryJson(summaries).dump(2) + "\n"));
  }
  return failure;
}

std::vector<StreamSnapshot> Serve::Snapshots() const {
  std::vector<StreamSnapshot> snapshots;
  snapshots.reserve(recorded_.size());
  for (const RecordedStream& recorded : recorded_) {
    snapshots.push_back(recorded.stream->Snapshot());
  }
  return snapshots;
}

}  // namespace millrace::service
