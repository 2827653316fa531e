#include "service/metrics/metrics_reading.h"

namespace millrace::service {

StreamReadings ReadStreams(const StreamRegistry& streams) {
  StreamReadings readings;
  for (const SharedStream& served : streams.All()) {
    readings.push_back({.run_id = served->run_id,
                        .snapshot = served->stream->Snapshot(),
                        .stats = served->record->Stats(),
                        .delays = served->record->DelayMetric(),
                        .learner = served->stream->learner(),
                        .compared = served->stream->config().scores.compare_with != "none",
                        .subscribers = served->subscribers.Read(),
                        .gpu_memory = served->stream->gpu_memory()});
  }
  return readings;
}

}  // namespace millrace::service
