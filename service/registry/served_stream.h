// A camera stream together with its run's record, its subscriber counts and its pictures for the
// live page.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "service/frames/live_page_pictures.h"
#include "service/registry/memory_budget.h"
#include "service/registry/stream_event_log.h"
#include "service/registry/stream_record.h"
#include "service/registry/subscriber_counts.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// One incarnation of a stream: from its creation to its deletion or restart. Its members are
/// constant or thread-safe. Shared by `StreamRegistry` and by the calls and pages that show it.
/// These may hold it a moment longer; by then it is stopped.
class ServedStream {
 public:
  /// `the_incarnation`: the id under which the stream reports its events.
  ServedStream(std::shared_ptr<StreamRecord> the_record, std::shared_ptr<CameraStream> the_stream,
               StreamEventLog::Incarnation the_incarnation = 0, HeldMemory the_memory = nullptr);

  /// The configuration of the stream: the one at its creation, or the last argument of SetConfig().
  /// Callers of ReplaceSource() must then call SetConfig(). It has no stop tokens.
  [[nodiscard]] StreamConfig config() const ABSL_LOCKS_EXCLUDED(mu_);
  void SetConfig(StreamConfig config) ABSL_LOCKS_EXCLUDED(mu_);

  /// A random text that identifies this incarnation among the incarnations of all streams.
  const std::string run_id;
  const StreamEventLog::Incarnation incarnation;
  /// The reserved memory, held until the stream is destroyed. Null: no estimate was made.
  const HeldMemory memory;
  /// Outlives the stream, which writes to it.
  const std::shared_ptr<StreamRecord> record;
  const std::shared_ptr<CameraStream> stream;
  /// The learner's description at its creation: its cost on an idle machine, and its promised
  /// delay. Later values of learner() depend on how busy the machine is.
  const std::shared_ptr<const pipeline::LearnerDescription> learner_as_made;
  SubscriberCounters subscribers;
  /// Belongs to this incarnation, so that viewers keep no pictures of a deleted stream.
  LivePagePictures pictures;

 private:
  mutable Mutex mu_;
  StreamConfig config_ ABSL_GUARDED_BY(mu_);
};

using SharedStream = std::shared_ptr<ServedStream>;

}  // namespace millrace::service
