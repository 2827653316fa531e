// One watcher's call: reads the streams' events and writes them to the client.
#pragma once

#include <deque>
#include <string>

#include "millrace/v1/stream_service.pb.h"
#include "service/stream_events.h"
#include "service/stream_writer.h"

namespace millrace::service {

/// Thread-safe, as StreamWriter.
class StreamWatch final : public StreamWriter<v1::WatchStreamsResponse> {
 public:
  /// Watches `stream`, or all where that is empty. Both must outlive it. Begin() must follow.
  StreamWatch(const StreamEvents& events, std::string stream, Subscribers& subscribers);

 protected:
  Step Advance(v1::WatchStreamsResponse& message, absl::Status& end) override;
  absl::Status Stalled(std::chrono::nanoseconds limit) override;

 private:
  // Constant after construction.
  const StreamEvents& events_;
  const std::string stream_;

  // Of whoever is in Advance().
  std::deque<StreamEvent> at_first_;
  StreamEvents::Cursor cursor_;
  bool deleted_ = false;
};

}  // namespace millrace::service
