// A gate between a pipeline and its listener, which is closed when the pipeline is to end:
// GStreamer may go on calling for ever, and the listener is gone by then.
#pragma once

#include "base/mutex.h"
#include "ingest/source/picture_pipeline.h"

namespace millrace::ingest {

/// Passes on to a listener until it is closed. Thread-safe. `listener` must outlive Close().
class ListenerGate final : public PipelineListener {
 public:
  explicit ListenerGate(PipelineListener& listener);
  ListenerGate(const ListenerGate&) = delete;
  ListenerGate& operator=(const ListenerGate&) = delete;

  void OnFormat(const CameraFormat& format) override;
  void OnPicture(DecodedPicture picture) override;
  void OnWarning(const absl::Status& warning) override;
  void OnOutcome(absl::Status outcome) override;

  /// Waits until the listener has returned: afterwards it is not called any more. Idempotent.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] bool Enter() ABSL_LOCKS_EXCLUDED(mu_);
  void Leave() ABSL_LOCKS_EXCLUDED(mu_);
  /// Calls without the lock.
  template <typename Call>
  void Pass(Call call) ABSL_LOCKS_EXCLUDED(mu_);

  PipelineListener& listener_;

  Mutex mu_;
  CondVar left_;
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::ingest
