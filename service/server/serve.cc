#include "service/server/serve.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/atomic_file.h"
#include "base/check.h"
#include "base/log_about.h"
#include "base/plural.h"
#include "base/status.h"
#include "ingest/gst/gstreamer.h"
#include "service/console/progress.h"
#include "service/console/serve_banner.h"
#include "service/console/summary.h"
#include "service/net/http_message.h"
#include "service/net/open_files.h"
#include "service/rpc/caught.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::chrono::milliseconds kTerminalPause(500);
constexpr std::chrono::milliseconds kLogPause(5000);
// Grace period for subscribers to read the rest of the rings after the streams have stopped.
constexpr std::chrono::milliseconds kGrpcGrace(700);

}  // namespace

void WarnOfLongStart(const std::string& stream) {
  const LogAbout about(stream);
  spdlog::warn(
      "stream '{}': its start has taken half a minute. Other streams no longer wait for it. If its "
      "network never answers, it keeps a core busy until the server ends",
      stream);
}

Serve::Serve(Options options)
    : options_(std::move(options)),
      shares_(ShareOpenFiles(MaxOpenFiles(), options_.config.streams.size())),
      budget_(options_.config.budget, streams_,
              [this](const ingest::SourceOptions& source) { return AnnouncedBy(source); }),
      loading_({.on_overtaken = WarnOfLongStart}),
      rules_({.defaults = options_.config.defaults, .sources = options_.config.client_sources}),
      fit_(options_.look),
      changes_({.streams = &streams_,
                .events = &events_,
                .start = [this](const StreamConfig& config,
                                const std::stop_token& stop) { return StartStream(config, stop); },
                .admit =
                    [this](const StreamConfig& config, const pipeline::LearnerDescription& learner,
                           const std::stop_token& stop) {
                      return budget_.Admit(config, learner, {}, stop);
                    },
                .on_begin = [this](const std::string& stream) { budget_.Hold(stream); },
                .on_end = [this](const std::string& stream) { budget_.Release(stream); },
                .max_streams = std::min(kMaxStreams, shares_.streams)}),
      reload_({.load = options_.load,
               .changes = &changes_,
               .on_read =
                   [this](const Config& config) {
                     budget_.SetBudget(config.budget);
                     rules_.Set({.defaults = config.defaults, .sources = config.client_sources});
                   },
               .stop = stop_.get_token()},
              options_.config),
      reloading_({.max_waiting = 1, .full = absl::OkStatus()}),
      fitting_({.max_waiting = kMaxStreams, .full = absl::OkStatus()}),
      certificate_({.tls = options_.config.listen.security.tls}) {
  MILLRACE_CHECK(options_.out != nullptr && options_.start_stream);
}

Serve::~Serve() = default;

absl::Status Serve::Run() {
  if (absl::Status started = Start(); !started.ok()) {
    Stop();
    return started;
  }
  if (!StopRequested()) {
    Started();
    ShowBanner();
    systemd_.Ready(StatusLine());
    WaitForEnd();
  }
  Stop();
  return Report();
}

// If a stream's start hangs, Run() does not reach Stop(). Then streams that already learn end here,
// with their last checkpoints.
void Serve::RequestStop() {
  stop_.request_stop();
  Wake();
  {
    const MutexLock lock(mu_);
    if (started_) return;
  }
  const auto end_streams = [this]() -> absl::Status {
    streams_.Stop();
    return absl::OkStatus();
  };
  reloading_.Post(this, [end_streams] { Caught(end_streams, "ending the streams").IgnoreError(); })
      .IgnoreError();
}

// Before started_ is set, the streams of the original file are still being started one by one.
void Serve::Reload() {
  {
    const MutexLock lock(mu_);
    if (!started_) {
      reload_at_start_ = true;
      return;
    }
  }
  PostReload();
}

void Serve::Started() {
  {
    const MutexLock lock(mu_);
    started_ = true;
    if (!reload_at_start_) return;
  }
  PostReload();
}

void Serve::PostReload() {
  reloading_
      .Post(this,
            [this] {
              if (!StopRequested()) reload_.Apply().IgnoreError();
            })
      .IgnoreError();
}

// A start that RequestStop() interrupts is no failure.
absl::Status Serve::Start() {
  ingest::InitializeGStreamer();  // First, so that no low-priority thread initializes it.
  absl::Status started = StartStreams();
  if (started.ok() && !StopRequested()) {
    started = Caught([this] { return StartServers(); }, "listening");
  }
  return StopRequested() && absl::IsCancelled(started) ? absl::OkStatus() : started;
}

absl::Status Serve::StartStreams() {
  fit_.LookAhead(options_.config.streams, stop_.get_token());
  for (const StreamConfig& config : options_.config.streams) {
    if (StopRequested()) break;
    MILLRACE_RETURN_IF_ERROR(changes_.Create(config).status());
  }
  return absl::OkStatus();
}

// Stops starting if the server stops or the client cancels its call.
absl::StatusOr<SharedStream> Serve::StartStream(StreamConfig config,
                                                const std::stop_token& cancel) {
  std::stop_source either;
  const auto request = [&either] { either.request_stop(); };
  const std::stop_callback by_server(stop_.get_token(), request);
  const std::stop_callback by_caller(cancel, request);
  const std::stop_token stop = either.get_token();
  MILLRACE_ASSIGN_OR_RETURN(FittedStream fitted, fit_.Complete(config, stop));
  config = std::move(fitted.config);
  MILLRACE_ASSIGN_OR_RETURN(HeldMemory memory, HoldMemory(config, stop));
  auto record =
      std::make_shared<StreamRecord>(MonotonicClock(), start_,
                                     std::chrono::round<std::chrono::nanoseconds>(
                                         std::chrono::duration<double>(config.scores.window_s)));
  const StreamEventLog::Incarnation incarnation = events_.Begin(config.name);
  absl::Cleanup forget = [&] { events_.Forget(incarnation); };
  StreamObservers observers = ObserversOf(config.name, incarnation, record);
  observers.admit = [this, config, stop,
                     announced = fitted.announced](const pipeline::LearnerDescription& learner) {
    return budget_.Admit(config, learner, announced, stop);
  };
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<CameraStream> stream,
                            options_.start_stream(config, std::move(observers), stop));
  std::move(forget).Cancel();
  return std::make_shared<ServedStream>(std::move(record), std::move(stream), incarnation,
                                        std::move(memory));
}

absl::StatusOr<HeldMemory> Serve::HoldMemory(const StreamConfig& config,
                                             const std::stop_token& stop) {
  if (!options_.memory_need) return nullptr;
  const double to_load = MemoryToLoad(config);
  std::optional<absl::StatusOr<Turns::Turn>> turn;
  HeldMemory meanwhile;  // Held until the need is known.
  if (to_load > 0) {
    turn.emplace(loading_.Take(config.name, stop));
    MILLRACE_RETURN_IF_ERROR(turn->status());
    MILLRACE_ASSIGN_OR_RETURN(meanwhile, budget_.HoldMemory(config, to_load));
  }
  const absl::StatusOr<double> bytes = options_.memory_need(config, stop);
  if (absl::IsCancelled(bytes.status())) return bytes.status();
  if (!bytes.ok()) return nullptr;
  meanwhile = nullptr;
  return budget_.HoldMemory(config, *bytes);
}

StreamObservers Serve::ObserversOf(const std::string& stream,
                                   StreamEventLog::Incarnation incarnation,
                                   const std::shared_ptr<StreamRecord>& record) {
  return {
      .observe =
          [this, record](const Prediction& prediction) {
            record->Record(prediction);
            if (record->predictions() == options_.frames) Wake();
          },
      .on_source_state =
          [this, incarnation, stream](ingest::SourceState state, const absl::Status& cause) {
            events_.SourceIs(incarnation, state, cause);
            if (state == ingest::SourceState::kStreaming) OnStreaming(stream);
          },
      .on_learner_state =
          [this, incarnation](LearnerState state, const absl::Status& cause) {
            events_.LearnerIs(incarnation, state, cause);
          },
      .on_overload = [this, incarnation](
                         const Overload& overload) { events_.OverloadIs(incarnation, overload); }};
}

double Serve::AnnouncedBy(ingest::SourceOptions source) const {
  if (ingest::CanWait(source) || !ingest::CanLook(source)) return 0;
  std::stop_source either;
  const auto stop = [&either] { either.request_stop(); };
  const std::stop_callback by_server(stop_.get_token(), stop);
  const std::stop_callback by_caller(source.stop, stop);
  source.stop = either.get_token();
  const absl::StatusOr<ingest::SourceFacts> facts = Caught(
      [&]() -> absl::StatusOr<ingest::SourceFacts> { return options_.look(ForProbe(source)); },
      "looking at a camera");
  return facts.ok() ? facts->frames_per_second : 0;
}

// Called on a thread of the source, which the change may stop, so it posts the change.
void Serve::OnStreaming(const std::string& name) {
  if (!fit_.Assumed(name)) return;
  fitting_
      .Post(this,
            [this, name] {
              if (!StopRequested()) FitToItsCamera(name);
            })
      .IgnoreError();
}

void Serve::FitToItsCamera(const std::string& name) {
  const auto fitted = [&](const ServedStream& now) -> std::optional<StreamConfig> {
    const ingest::SourceStatus source = now.stream->Snapshot().source;
    const ingest::Extent picture = {.width = source.camera_width, .height = source.camera_height};
    std::optional<StreamConfig> config =
        fit_.Correct(now.config(), {.picture = picture,
                                    .sent = picture,
                                    .frames_per_second = source.camera_frames_per_second});
    if (!config) return config;
    const LogAbout about(name);
    spdlog::info("stream '{}': its camera shows {}x{}: it restarts for {}x{}", name, picture.width,
                 picture.height, config->learner.width, config->learner.height);
    return config;
  };
  const absl::Status made =
      Caught([&] { return changes_.MakeAnew(name, fitted); }, "restarting a stream");
  if (made.ok() || StopRequested()) return;
  const LogAbout about(name);
  spdlog::error(
      "stream '{}' could not restart for its camera, and keeps the shape that was "
      "assumed; set model.input, or start the server again: {}",
      name, std::string(made.message()));
}

absl::Status Serve::StartServers() {
  const Config& config = options_.config;
  MILLRACE_ASSIGN_OR_RETURN(
      grpc_,
      GrpcServer::Start({.address = config.listen.address,
                         .port = config.listen.grpc_port,
                         .connection_age = std::chrono::seconds(config.listen.connection_age_s),
                         .connections = shares_.grpc,
                         .counts = &grpc_connections_,
                         .security = config.listen.security},
                        {.streams = &streams_,
                         .events = &events_,
                         .changes = &changes_,
                         .liveness = &liveness_,
                         .rules = &rules_,
                         .calls = &calls_}));
  MILLRACE_ASSIGN_OR_RETURN(
      web_, ServeWeb::Start({.listen = config.listen,
                             .streams = &streams_,
                             .liveness = &liveness_,
                             .calls = &calls_,
                             .grpc_connections = &grpc_connections_,
                             .page_limits = shares_.page,
                             .probe_limits = shares_.probes,
                             .configuration = [this] { return reload_.standing(); },
                             .certificate_expiry = [this] { return certificate_.expiry(); }}));
  DialOwnPorts();
  return absl::OkStatus();
}

void Serve::DialOwnPorts() {
  std::vector<SelfDial::Port> ports = web_->ports();
  ports.push_back(
      {.name = "gRPC", .address = options_.config.listen.address, .number = grpc_->port()});
  dial_ = std::make_unique<SelfDial>(SelfDial::Options{
      .ports = std::move(ports),
      .tell = [this](std::string why) { liveness_.SetUnreachable(std::move(why)); }});
}

void Serve::ShowBanner() {
  std::vector<BannerStream> streams;
  for (const SharedStream& served : streams_.All()) {
    streams.push_back({.config = served->config(),
                       .snapshot = served->stream->Snapshot(),
                       .learner = *served->stream->learner(),
                       .resumption = served->stream->resumption()});
  }
  *options_.out
      << Banner(streams,
                {.page = web_->page_url(),
                 .grpc = absl::StrCat(UrlHost(options_.config.listen.address), ":", grpc_->port()),
                 .metrics = web_->metrics_url()},
                {.columns = options_.terminal && options_.columns ? options_.columns() : 0,
                 .verbose = options_.verbose})
      << std::endl;
}

void Serve::WaitForEnd() {
  ProgressPrinter printer(*options_.out, options_.terminal,
                          {.frames = options_.frames, .verbose = options_.verbose});
  const auto show = [&] {
    if (!options_.progress) return;
    printer.Show(Snapshots(), options_.columns ? options_.columns() : kProgressColumns);
  };
  while (!Pause(options_.terminal ? kTerminalPause : kLogPause)) {
    show();
    systemd_.Status(StatusLine());
  }
  printer.Finish();
}

// The status for `systemctl status`.
std::string Serve::StatusLine() const {
  double received = 0;
  double predicted = 0;
  const std::vector<StreamSnapshot> snapshots = Snapshots();
  for (const StreamSnapshot& snapshot : snapshots) {
    received += snapshot.frames_per_second_in;
    predicted += snapshot.predictions_per_second;
  }
  return absl::StrFormat("%s, %.1f frames a second in, %.1f predicted",
                         Plural(snapshots.size(), "stream"), received, predicted);
}

bool Serve::Pause(std::chrono::milliseconds pause) {
  // The end of a file wakes no waiter: check at least once a second.
  const auto end = std::chrono::steady_clock::now() + pause;
  while (!TimeToEnd()) {
    certificate_.Look();
    if (liveness_.Judge().alive) systemd_.Alive(MonotonicClock().Now());
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

// A server without streams goes on: clients may add some.
bool Serve::TimeToEnd() {
  if (StopRequested()) return true;
  const std::vector<SharedStream> streams = streams_.All();
  return !streams.empty() &&
         std::all_of(streams.begin(), streams.end(),
                     [this](const SharedStream& served) { return StreamDone(*served); });
}

void Serve::Wake() {
  {
    MutexLock lock(mu_);
    look_ = true;
  }
  woken_.notify_all();
}

bool Serve::StreamDone(const ServedStream& served) const {
  const bool enough = options_.frames > 0 && served.record->predictions() >= options_.frames;
  // A failed model makes no more predictions; Report() has the reason.
  const bool failed = options_.frames > 0 && !served.stream->Snapshot().learner.ok();
  return enough || failed || served.stream->ended();
}

void Serve::Stop() {
  // Otherwise gRPC would wait for a client's stream that is still starting.
  stop_.request_stop();
  systemd_.Stopping();
  dial_.reset();
  liveness_.SetUnreachable({});
  if (web_ != nullptr) web_->BeginStop();
  if (grpc_ != nullptr) grpc_->Drain();
  streams_.Stop();
  events_.Close();
  if (grpc_ != nullptr) grpc_->Shutdown(kGrpcGrace);
}

absl::Status Serve::Report() {
  std::vector<StreamSummary> summaries;
  absl::Status failure;
  for (const SharedStream& served : streams_.All()) {
    summaries.push_back(Summarise(*served));
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
  for (const SharedStream& served : streams_.All()) {
    snapshots.push_back(served->stream->Snapshot());
  }
  return snapshots;
}

}  // namespace millrace::service
