// A gate between a pipeline and its listener. The pipeline's owner closes it at the end, because
// GStreamer may call callbacks forever after the listener is destroyed.
#pragma once

#include "base/mutex.h"
#include "ingest/source/picture_pipeline.h"

namespace millrace::ingest {

/// Forwards calls to a listener until it is closed. Thread-safe. `listener` must outlive Close().
class ListenerGate final : public PipelineListener {
 public:
  explicit ListenerGate(PipelineListener& listener);
  ListenerGate(const ListenerGate&) = delete;
  ListenerGate& operator=(const ListenerGate&) = delete;

  void OnFormat(const CameraFormat& format) override;
  void OnPicture(DecodedPicture picture) override;
  void OnWarning(const absl::Status& warning) override;
  void OnOutcome(absl::Status outcome) override;

  /// Waits for running calls of the listener; afterwards the listener is not called again.
  /// Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] bool Enter() ABSL_LOCKS_EXCLUDED(mu_);
  void Leave() ABSL_LOCKS_EXCLUDED(mu_);
  /// Calls the listener without holding the lock.
  template <typename Call>
  void Pass(Call call) ABSL_LOCKS_EXCLUDED(mu_);

  PipelineListener& listener_;

  Mutex mu_;
  CondVar left_;
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::ingest
