// A camera stream as the server serves it: the stream, the record of its run, its subscribers.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "service/camera_stream.h"
#include "service/subscriber_counts.h"
#include "service/summary_recorder.h"

namespace millrace::service {

/// One life of a stream, from when it was made to when it is deleted or made anew. Constant but for
/// what is thread-safe by itself. Shared by `Streams` and by all who are showing it, who may keep
/// it a moment longer: it is stopped by then.
class ServedStream {
 public:
  ServedStream(std::shared_ptr<RunRecorder> the_record, std::shared_ptr<CameraStream> the_stream);

  /// As the stream is now: ReplaceSource() and whoever called it change it.
  [[nodiscard]] StreamConfig config() const ABSL_LOCKS_EXCLUDED(mu_);
  void SetConfig(StreamConfig config) ABSL_LOCKS_EXCLUDED(mu_);

  /// Stands for this life: a random text, of no other life of any stream.
  const std::string run_id;
  /// Outlives the stream, which writes to it.
  const std::shared_ptr<RunRecorder> record;
  const std::shared_ptr<CameraStream> stream;
  SubscriberCounters subscribers;

 private:
  mutable Mutex mu_;
  StreamConfig config_ ABSL_GUARDED_BY(mu_);
};

using SharedStream = std::shared_ptr<ServedStream>;

}  // namespace millrace::service
