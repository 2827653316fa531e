// The server: streams that learn, and everything that shows them, from start to end.
//
//   start   cameras are looked at, streams, one after the other (their layers are measured), gRPC,
//           web servers, banner
//   run     a progress line now and then; the configuration is read again when that is asked for
//   stop    starts under way give up; not ready; then at the same time: web servers end, streams
//           drain; watchers are told; gRPC ends; summary
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
#include "service/registry/claims.h"
#include "service/registry/client_rules.h"
#include "service/registry/stream_control.h"
#include "service/registry/stream_events.h"
#include "service/registry/streams.h"
#include "service/registry/summary_recorder.h"
#include "service/rpc/call_thread.h"
#include "service/server/camera_fit.h"
#include "service/server/certificate_watch.h"
#include "service/server/config_reload.h"
#include "service/server/grpc_server.h"
#include "service/web/serve_web.h"

namespace millrace::service {

/// What is told of a stream: CameraStream::Options explains each.
struct StreamObservers {
  std::function<void(const Prediction&)> observe = {};
  std::function<void(ingest::SourceState, const absl::Status&)> on_source_state = {};
  std::function<void(LearnerState, const absl::Status&)> on_learner_state = {};
  std::function<void(const Overload&)> on_overload = {};
  std::function<absl::Status(const pipeline::LearnerDescription&)> admit = {};
};

/// One run of the server. Run() is for one thread; RequestStop() for any.
class Serve {
 public:
  struct Options {
    Config config;
    /// Ends once every stream has this many predictions or has ended; 0 goes on. Frames inside the
    /// pipeline then still get theirs, so that none is lost: the summary may count a few more.
    std::uint64_t frames = 0;
    /// Where the summary goes as JSON; empty for nowhere.
    std::string summary_json = {};
    bool progress = true;
    /// Where banner, progress and summary go. It must outlive the run.
    std::ostream* out = nullptr;
    /// Whether `out` is a terminal, and how many columns it has now.
    bool terminal = false;
    std::function<std::size_t()> columns = {};
    /// Reads the configuration again, for Reload().
    std::function<absl::StatusOr<Config>()> load = [] {
      return absl::FailedPreconditionError("it was read from no file");
    };
    /// Makes a stream: the real one, or a test's own.
    std::function<absl::StatusOr<std::unique_ptr<CameraStream>>(const StreamConfig&,
                                                                StreamObservers observers)>
        start_stream = {};
    /// Bytes that the learner of a stream will take, before it is made. What it fails with is left
    /// to `start_stream` to say. Empty: nobody reckons.
    std::function<absl::StatusOr<double>(const StreamConfig&)> memory_need = {};
    /// How a camera is looked at before its stream is made.
    CameraFit::LookAt look = ingest::Look;
  };

  explicit Serve(Options options);
  Serve(const Serve&) = delete;
  Serve& operator=(const Serve&) = delete;
  ~Serve();

  /// Starts, serves until the end and stops. OK at an end that was asked for, even while starting,
  /// or when every source has ended; else what failed. REQUIRES: called once.
  [[nodiscard]] absl::Status Run();

  /// Has the configuration read again, on another thread, and made so (config_reload.h): where the
  /// server still starts, once it has. One that is asked for while one waits already is the same.
  void Reload() ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends Run() in good order. Idempotent.
  void RequestStop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Status Start();
  absl::Status StartStreams();
  absl::StatusOr<SharedStream> StartStream(StreamConfig config);
  /// The source of the stream `name` shows pictures: where its camera was assumed, it is known now.
  void OnStreaming(const std::string& name);
  void FitToItsCamera(const std::string& name);
  /// Frames a second, after a look at the camera; 0: it is away, or does not say.
  [[nodiscard]] double AnnouncedBy(ingest::SourceOptions source) const;
  /// Null: it could not be reckoned. A network of the user's own is loaded for that: one at a time,
  /// and only where what loading takes is left.
  [[nodiscard]] absl::StatusOr<HeldMemory> HoldMemory(const StreamConfig& config);
  /// All but who admits it.
  [[nodiscard]] StreamObservers ObserversOf(const std::string& stream, StreamEvents::Life life,
                                            const std::shared_ptr<RunRecorder>& record);
  absl::Status StartServers();
  void DialOwnPorts();
  /// What could not be reloaded before is, from now on.
  void Started() ABSL_LOCKS_EXCLUDED(mu_);
  void PostReload();
  void ShowBanner();
  void WaitForEnd();
  [[nodiscard]] std::string StatusLine() const;
  void Stop();
  absl::Status Report();

  /// Looks again whether it is time to end.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool StopRequested() const { return stop_.stop_requested(); }
  [[nodiscard]] bool TimeToEnd() ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits until woken or for `pause`. Returns whether it is time to end.
  bool Pause(std::chrono::milliseconds pause) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool StreamDone(const ServedStream& served) const;
  [[nodiscard]] std::vector<StreamSnapshot> Snapshots() const;

  // Constant after construction.
  const Options options_;
  const std::chrono::nanoseconds start_ = MonotonicClock().Now();
  const OpenFileShares shares_;

  // What streams call into, and starts under way: they outlive both. Requested, the stop ends a
  // start that is still going on, too.
  std::stop_source stop_;
  Mutex mu_;
  CondVar woken_;
  bool look_ ABSL_GUARDED_BY(mu_) = false;
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool reload_at_start_ ABSL_GUARDED_BY(mu_) = false;

  // Self-synchronized. Outlive what shows and changes them.
  StreamEvents events_;
  Streams streams_;
  Liveness liveness_{streams_, MonotonicClock(), [] {
                       const absl::Status cameras = ingest::CheckCameraProcesses();
                       return cameras.ok() ? ""
                                           : absl::StrCat(std::string(cameras.message()), "\n");
                     }};
  CallCounts calls_;
  BudgetGate budget_;
  Claims loading_;  // Of users' own networks, to reckon what they take.
  ClientRules rules_;
  CameraFit fit_;
  StreamControl control_;
  ConfigReload reload_;   // Of reloading_'s thread, but for what metrics ask.
  CallThread reloading_;  // Both end before what they change.
  CallThread fitting_;

  // Of Run()'s thread.
  SystemdNotifier systemd_;
  ConnectionCounts grpc_connections_;
  CertificateWatch certificate_;  // Metrics ask it, too.
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<ServeWeb> web_;
  std::unique_ptr<SelfDial> dial_;
};

}  // namespace millrace::service
