// A camera source that never gives up: each session's end starts another session.
//
// One class serves all cameras: the head of the pipeline decides between RTSP, V4L2 and the test
// picture. A supervisor thread executes the SessionMachine's decisions. Each session has a new
// pipeline, because a failed pipeline never recovers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "ingest/gst/gst_pipeline.h"
#include "ingest/inputs/open_source.h"
#include "ingest/source/lag_watch.h"
#include "ingest/source/session_machine.h"
#include "ingest/source/source.h"
#include "ingest/source/state_log.h"

namespace millrace::ingest {

/// A camera. Thread-safe. The destructor stops it.
class CameraSource final : public Source, private PipelineListener {
 public:
  /// Starts at once. `pipeline` has the options of each session's pipeline.
  CameraSource(const SourceRequest& request, PipelineOptions pipeline);
  ~CameraSource() override;

  [[nodiscard]] FrameQueue& queue() override { return feed_.queue(); }
  [[nodiscard]] SourceStatus status() const override ABSL_LOCKS_EXCLUDED(mu_);
  void Stop() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void OnFormat(const CameraFormat& format) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnPicture(DecodedPicture picture) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnWarning(const absl::Status& warning) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnOutcome(absl::Status outcome) override ABSL_LOCKS_EXCLUDED(mu_);

  void Supervise() ABSL_LOCKS_EXCLUDED(mu_);
  void RunSessions() ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits for the machine's next step. Returns nullopt when stopping.
  [[nodiscard]] std::optional<SessionMachine::Step> NextStep() ABSL_LOCKS_EXCLUDED(mu_);
  /// Returns a playing pipeline. Returns null if it cannot be built, which counts as a failed
  /// session.
  [[nodiscard]] std::unique_ptr<PicturePipeline> BeginSession() ABSL_LOCKS_EXCLUDED(mu_);
  /// Ends the session. If the pipeline hangs, the next session starts later. `pipeline` may be
  /// null.
  void EndSession(std::unique_ptr<PicturePipeline> pipeline) ABSL_LOCKS_EXCLUDED(mu_);
  /// The final failure, or else the machine's cause, with the URI's name.
  [[nodiscard]] absl::Status Cause() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Logs a warning if this machine decodes more slowly than the camera sends.
  void WatchLag(const DecodedPicture& picture, std::chrono::nanoseconds now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Copies the machine's state to the source. Call it after each change of the machine.
  void TakeState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Ends the source for good: an internal error that no new session can fix.
  void Fail(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::string shown_;
  const PipelineOptions pipeline_options_;
  const Clock& clock_;
  const std::chrono::nanoseconds pause_after_hanging_;
  const std::chrono::nanoseconds pause_with_too_many_;

  // Self-synchronized.
  FrameFeed feed_;
  StateLog states_;  ///< Changes under mu_, so that status() is a consistent snapshot.

  mutable Mutex mu_;
  CondVar wake_;
  SessionMachine machine_ ABSL_GUARDED_BY(mu_);
  std::optional<LagWatch> lag_ ABSL_GUARDED_BY(mu_);  ///< Only for a camera with decoded pictures.
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  absl::Status warning_ ABSL_GUARDED_BY(mu_);  ///< The session's last warning.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  ///< The final failure.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  Mutex join_mu_;  ///< Held by the thread that joins.
  std::jthread supervisor_;
};

/// Starts a camera. FAILED_PRECONDITION if its pipeline cannot be built now: GStreamer lacks an
/// element, or `pipeline.configure` fails. The same failure later ends only one session, and the
/// source retries.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenCamera(const SourceRequest& request,
                                                                 PipelineOptions pipeline);

}  // namespace millrace::ingest
