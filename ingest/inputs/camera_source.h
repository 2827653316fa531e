// A source that is never given up: whatever ends a session, another one follows.
//
// One for all cameras: what kind it is, an RTSP camera or the test picture, is said by the head of
// its pipelines. A supervisor thread does what the SessionMachine decides, with a fresh pipeline
// per session, because nothing comes back in one that has failed.
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
  /// Starts at once. `pipeline` describes each session's.
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
  /// Waits until the machine wants something done. Returns nullopt once stopping.
  [[nodiscard]] std::optional<SessionMachine::Step> NextStep() ABSL_LOCKS_EXCLUDED(mu_);
  /// A playing pipeline; null if it could not even be built, which counts as a failed session.
  [[nodiscard]] std::unique_ptr<PicturePipeline> BeginSession() ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits longer for the next session if the pipeline hangs. `pipeline` may be null.
  void EndSession(std::unique_ptr<PicturePipeline> pipeline) ABSL_LOCKS_EXCLUDED(mu_);
  /// What ended it for good, else the machine's cause; with the URI's name.
  [[nodiscard]] absl::Status Cause() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Has it said where this machine decodes more slowly than the camera sends.
  void WatchLag(const DecodedPicture& picture, std::chrono::nanoseconds now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Makes the machine's state the source's. Follows whatever may have changed it.
  void TakeState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Ends the source for good: a fault of ours, which no new session mends.
  void Fail(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::string shown_;
  const PipelineOptions pipeline_options_;
  const Clock& clock_;
  const std::chrono::nanoseconds pause_after_hanging_;
  const std::chrono::nanoseconds pause_with_too_many_;

  // Self-synchronized.
  FrameFeed feed_;
  StateLog states_;  ///< Changes with mu_ held, so that all of status() is of one moment.

  mutable Mutex mu_;
  CondVar wake_;
  SessionMachine machine_ ABSL_GUARDED_BY(mu_);
  std::optional<LagWatch> lag_ ABSL_GUARDED_BY(mu_);  ///< Of a camera whose pictures are decoded.
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  absl::Status warning_ ABSL_GUARDED_BY(mu_);  ///< The session's last.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  ///< What ended it for good.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  Mutex join_mu_;  ///< Held by the one thread that joins.
  std::jthread supervisor_;
};

/// Starts a camera. Fails with FAILED_PRECONDITION if its pipelines cannot be built as things
/// stand: GStreamer lacks an element, or `pipeline.configure` fails. Once it runs, the same is a
/// session that failed, and tried again.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenCamera(const SourceRequest& request,
                                                                 PipelineOptions pipeline);

}  // namespace millrace::ingest
