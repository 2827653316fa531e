// Runs the whole server from start to end: learning streams, gRPC, web servers, progress, summary.
//
//   start   probe cameras; start streams one after the other (each measures its layers); gRPC;
//           web servers; banner
//   run     print a progress line now and then; reload the configuration on request
//   stop    cancel pending starts; not ready; then in parallel: end web servers, drain streams;
//           notify watchers; end gRPC; summary
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ingest/inputs/camera_process.h"
#include "service/config/config.h"
#include "service/health/liveness.h"
#include "service/health/systemd_notifier.h"
#include "service/net/open_files.h"
#include "service/net/self_dial.h"
#include "service/registry/budget_gate.h"
#include "service/registry/client_rules.h"
#include "service/registry/stream_changes.h"
#include "service/registry/stream_event_log.h"
#include "service/registry/stream_record.h"
#include "service/registry/stream_registry.h"
#include "service/registry/turns.h"
#include "service/rpc/call_thread.h"
#include "service/server/camera_fit.h"
#include "service/server/certificate_watch.h"
#include "service/server/config_reload.h"
#include "service/server/grpc_server.h"
#include "service/web/serve_web.h"

namespace millrace::service {

/// Callbacks of a stream: see CameraStream::Options.
struct StreamObservers {
  std::function<void(const Prediction&)> observe = {};
  std::function<void(ingest::SourceState, const absl::Status&)> on_source_state = {};
  std::function<void(LearnerState, const absl::Status&)> on_learner_state = {};
  std::function<void(const Overload&)> on_overload = {};
  std::function<absl::Status(const pipeline::LearnerDescription&)> admit = {};
};

/// Logs that the start of a stream takes very long.
void WarnOfLongStart(const std::string& stream);

/// One run of the server. Run() is for one thread; RequestStop() and Reload() are thread-safe.
class Serve {
 public:
  struct Options {
    Config config;
    /// Ends once every stream has this many predictions or has ended; 0: no limit. Frames inside
    /// the pipeline still get their predictions, so the summary may count a few more.
    std::uint64_t frames = 0;
    /// The path of the JSON summary; empty: no such file.
    std::string summary_json = {};
    bool progress = true;
    /// Adds the figures of the method to banner and progress.
    bool verbose = false;
    /// Receives banner, progress and summary. Must outlive the run.
    std::ostream* out = nullptr;
    /// Whether `out` is a terminal, and its current number of columns.
    bool terminal = false;
    std::function<std::size_t()> columns = {};
    /// Reads the configuration file again, for Reload().
    std::function<absl::StatusOr<Config>()> load = [] {
      return absl::FailedPreconditionError("it was read from no file");
    };
    /// Makes a stream: a real one, or a test's fake.
    std::function<absl::StatusOr<std::unique_ptr<CameraStream>>(
        const StreamConfig&, StreamObservers observers, const std::stop_token& stop)>
        start_stream = {};
    /// Bytes that a stream's learner will need, computed before it is made. Its errors are ignored:
    /// `start_stream` reports them. Empty: no estimate.
    std::function<absl::StatusOr<double>(const StreamConfig&, const std::stop_token& stop)>
        memory_need = {};
    /// Probes a camera before its stream is made.
    CameraFit::LookAt look = ingest::Look;
  };

  explicit Serve(Options options);
  Serve(const Serve&) = delete;
  Serve& operator=(const Serve&) = delete;
  ~Serve();

  /// Starts, serves until the end and stops. OK after a requested stop, even during the start, or
  /// when every source has ended; otherwise the error. REQUIRES: called once.
  [[nodiscard]] absl::Status Run();

  /// Reloads the configuration on another thread and applies the changes (config_reload.h). During
  /// the start, the reload waits until the start is complete. Requests during a waiting reload are
  /// merged.
  void Reload() ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends Run() gracefully. Idempotent.
  void RequestStop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Status Start();
  absl::Status StartStreams();
  absl::StatusOr<SharedStream> StartStream(StreamConfig config, const std::stop_token& cancel);
  /// The source of the stream `name` shows pictures. If its camera was assumed, its facts are known
  /// now.
  void OnStreaming(const std::string& name);
  void FitToItsCamera(const std::string& name);
  /// The frame rate that a probe of the camera reports; 0: the camera is away or reports no rate.
  [[nodiscard]] double AnnouncedBy(ingest::SourceOptions source) const;
  /// Reserves the learner's memory. Null: the need is unknown. To estimate it, a user's network is
  /// loaded: one at a time, and only if the memory for loading is free.
  [[nodiscard]] absl::StatusOr<HeldMemory> HoldMemory(const StreamConfig& config,
                                                      const std::stop_token& stop);
  /// All observers except `admit`.
  [[nodiscard]] StreamObservers ObserversOf(const std::string& stream,
                                            StreamEventLog::Incarnation incarnation,
                                            const std::shared_ptr<StreamRecord>& record);
  absl::Status StartServers();
  void DialOwnPorts();
  /// Allows reloads from now on, and runs one that was requested during the start.
  void Started() ABSL_LOCKS_EXCLUDED(mu_);
  void PostReload();
  void ShowBanner();
  void WaitForEnd();
  [[nodiscard]] std::string StatusLine() const;
  void Stop();
  absl::Status Report();

  /// Makes Pause() check again whether to end.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool StopRequested() const { return stop_.stop_requested(); }
  [[nodiscard]] bool TimeToEnd() ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits until woken or for `pause`. Returns whether to end.
  bool Pause(std::chrono::milliseconds pause) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool StreamDone(const ServedStream& served) const;
  [[nodiscard]] std::vector<StreamSnapshot> Snapshots() const;

  // Constant after construction.
  const Options options_;
  const std::chrono::nanoseconds start_ = MonotonicClock().Now();
  const OpenFileShares shares_;

  // Streams and pending starts use these members, which therefore outlive both. Requesting the stop
  // also ends a pending start.
  std::stop_source stop_;
  Mutex mu_;
  CondVar woken_;
  bool look_ ABSL_GUARDED_BY(mu_) = false;
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool reload_at_start_ ABSL_GUARDED_BY(mu_) = false;

  // Self-synchronized. Outlive the servers and threads that use them.
  StreamEventLog events_;
  StreamRegistry streams_;
  Liveness liveness_{streams_, MonotonicClock(), [] {
                       const absl::Status cameras = ingest::CheckCameraProcesses();
                       return cameras.ok() ? ""
                                           : absl::StrCat(std::string(cameras.message()), "\n");
                     }};
  CallCounts calls_;
  BudgetGate budget_;
  Turns loading_;  // For users' networks, which are loaded one at a time.
  ClientRules rules_;
  CameraFit fit_;
  StreamChanges changes_;
  ConfigReload reload_;   // Used by reloading_'s thread; metrics read standing().
  CallThread reloading_;  // Both end before the objects that they change.
  CallThread fitting_;

  // Used only by Run()'s thread.
  SystemdNotifier systemd_;
  ConnectionCounts grpc_connections_;
  CertificateWatch certificate_;  // Metrics also read its expiry().
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<ServeWeb> web_;
  std::unique_ptr<SelfDial> dial_;
};

}  // namespace millrace::service
