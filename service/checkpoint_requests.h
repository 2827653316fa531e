// Waits for checkpoints that somebody asked for, and logs when they begin to fail.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/learner.h"

namespace millrace::service {

/// Of one stream. Thread-safe.
class CheckpointRequests {
 public:
  /// `stream`: for the log.
  explicit CheckpointRequests(std::string stream) : stream_(std::move(stream)) {}

  /// CheckpointOptions::on_write.
  void OnWritten(const absl::Status& written) ABSL_LOCKS_EXCLUDED(mu_);

  /// As CameraStream::WriteCheckpoint().
  [[nodiscard]] absl::Status AskAndWait(pipeline::Learner& learner, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// None will be written any more: who waits is told.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::string stream_;

  Mutex mu_;
  CondVar changed_;
  std::int64_t tried_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status last_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
