// A video file, played once or in a loop, as fast as the learner takes its frames or in a camera's
// pace.
//
// Each round of a loop has its own pipeline, and the next one is prepared while this one plays. So
// a round begins without a gap, and a file needs no index for seeking.
#pragma once

#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "ingest/frame/pacer.h"
#include "ingest/gst/gst_pipeline.h"
#include "ingest/inputs/open_source.h"
#include "ingest/source/outcome.h"
#include "ingest/source/source.h"
#include "ingest/source/state_log.h"

namespace millrace::ingest {

/// Plays a file. Thread-safe. The destructor stops it.
class FileSource final : public Source {
 public:
  /// Starts to play `path` at once.
  FileSource(const SourceRequest& request, std::string path);
  ~FileSource() override;

  /// Waits for the first picture. Fails as OpenSource().
  [[nodiscard]] absl::Status AwaitFirstPicture(std::chrono::nanoseconds limit)
      ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] FrameQueue& queue() override { return feed_.queue(); }
  [[nodiscard]] SourceStatus status() const override ABSL_LOCKS_EXCLUDED(mu_);
  void Stop() override ABSL_LOCKS_EXCLUDED(mu_);
  /// Starts to stop and does not wait: AwaitFirstPicture() returns CANCELLED.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// One pass through the file.
  class Round final : private PipelineListener {
   public:
    /// Prepares the round. A failure is its outcome.
    explicit Round(FileSource& source);

    /// Starts its pictures.
    void Play() {
      if (pipeline_) pipeline_->Play();
    }
    /// Starts its end; the destructor waits for it.
    void BeginEnd() {
      if (pipeline_) pipeline_->BeginEnd();
    }
    [[nodiscard]] Outcome& outcome() { return outcome_; }

   private:
    void OnFormat(const CameraFormat& format) override { source_.SetFormat(format); }
    void OnPicture(DecodedPicture picture) override { source_.Take(std::move(picture)); }
    void OnWarning(const absl::Status& /*warning*/) override {}
    void OnOutcome(absl::Status outcome) override { outcome_.Set(std::move(outcome)); }

    FileSource& source_;
    Outcome outcome_;
    std::unique_ptr<GstPicturePipeline> pipeline_;  // Last: its threads use all members above.
  };

  // On the player's thread.
  void Play() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status PlayRounds() ABSL_LOCKS_EXCLUDED(mu_);
  void BeginRound() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status PlayToEnd(Round& round) ABSL_LOCKS_EXCLUDED(mu_);
  void Finish(const absl::Status& outcome) ABSL_LOCKS_EXCLUDED(mu_);

  // On the pipeline's threads.
  void SetFormat(const CameraFormat& format) ABSL_LOCKS_EXCLUDED(mu_);
  void Take(DecodedPicture picture) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool WaitUntilDue(const DecodedPicture& picture) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::string shown_;
  const PipelineOwner owner_;
  const EndLimits end_;
  const std::string path_;
  const SourceOptions options_;
  const Clock& clock_;

  // Self-synchronized.
  FrameFeed feed_;
  StateLog states_;  ///< Changes under mu_, so that status() is a consistent snapshot.

  mutable Mutex mu_;
  CondVar changed_;
  absl::Status cause_ ABSL_GUARDED_BY(mu_);
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  Pacer pacer_ ABSL_GUARDED_BY(mu_);
  Outcome* playing_ ABSL_GUARDED_BY(mu_) = nullptr;  ///< Null between rounds.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  Mutex join_mu_;  ///< Held by the thread that joins.
  std::jthread player_;
};

}  // namespace millrace::ingest
