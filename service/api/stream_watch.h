// One watcher's call: reads the streams' events and writes them to the client.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "millrace/v1/stream_service.pb.h"
#include "service/registry/stream_event_log.h"
#include "service/rpc/stream_writer.h"

namespace millrace::service {

/// Thread-safe, like StreamWriter.
class StreamWatch final : public StreamWriter<v1::WatchStreamsResponse> {
 public:
  /// The start position of a watcher.
  struct Place {
    /// Empty: all streams.
    std::string stream = {};
    /// The current state of each stream, and the cursor after it.
    std::deque<StreamEvent> now = {};
    StreamEventLog::Cursor cursor = 0;
  };

  /// The start position of a watcher of `stream`, from this moment on. Empty: all streams.
  /// NOT_FOUND if `events` has no such stream. Only `events` knows whether the stream's deletion
  /// event is still to come.
  [[nodiscard]] static absl::StatusOr<Place> PlaceIn(const StreamEventLog& events,
                                                     const std::string& stream);

  /// `events` and `calls` must outlive it. Call Begin() next.
  StreamWatch(const StreamEventLog& events, Place place, StreamingCalls& calls);

 protected:
  Step Advance(v1::WatchStreamsResponse& message, absl::Status& end) override;
  absl::Status Stalled(std::chrono::nanoseconds limit) override;

 private:
  // Constant after construction.
  const StreamEventLog& events_;
  const std::string stream_;

  // Used only in Advance().
  std::deque<StreamEvent> at_first_;
  StreamEventLog::Cursor cursor_;
  std::uint64_t missed_ = 0;  // Not yet reported.
  bool deleted_ = false;
};

}  // namespace millrace::service
