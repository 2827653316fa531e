// A camera stream as the server serves it: the stream, the record of its run, its subscribers, its
// pictures for the live page.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "service/frames/live_page_pictures.h"
#include "service/registry/memory_budget.h"
#include "service/registry/stream_events.h"
#include "service/registry/subscriber_counts.h"
#include "service/registry/summary_recorder.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// One life of a stream, from when it was made to when it is deleted or made anew. Constant but for
/// what is thread-safe by itself. Shared by `Streams` and by all who are showing it, who may keep
/// it a moment longer: it is stopped by then.
class ServedStream {
 public:
  /// `the_life`: by which the stream tells what it does.
  ServedStream(std::shared_ptr<RunRecorder> the_record, std::shared_ptr<CameraStream> the_stream,
               StreamEvents::Life the_life = 0, HeldMemory the_memory = nullptr);

  /// As the stream was made, or, where its source has been replaced since, as SetConfig() said
  /// then: for whoever calls ReplaceSource() to call next. Without tokens, which are not kept.
  [[nodiscard]] StreamConfig config() const ABSL_LOCKS_EXCLUDED(mu_);
  void SetConfig(StreamConfig config) ABSL_LOCKS_EXCLUDED(mu_);

  /// Stands for this life: a random text, of no other life of any stream.
  const std::string run_id;
  const StreamEvents::Life life;
  /// What the stream was reckoned to need, held until it is gone. Null: nobody reckoned.
  const HeldMemory memory;
  /// Outlives the stream, which writes to it.
  const std::shared_ptr<RunRecorder> record;
  const std::shared_ptr<CameraStream> stream;
  /// Its learner as it was made: what it takes of an idle machine, and what it was promised. What
  /// learner() says later follows how busy the machine is.
  const std::shared_ptr<const pipeline::LearnerDescription> learner_as_made;
  SubscriberCounters subscribers;
  /// Of this life alone: who shows them keeps nothing of a stream that is gone.
  LivePagePictures pictures;

 private:
  mutable Mutex mu_;
  StreamConfig config_ ABSL_GUARDED_BY(mu_);
};

using SharedStream = std::shared_ptr<ServedStream>;

}  // namespace millrace::service
