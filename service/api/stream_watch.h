// One watcher's call: reads the streams' events and writes them to the client.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "millrace/v1/stream_service.pb.h"
#include "service/registry/stream_events.h"
#include "service/rpc/stream_writer.h"

namespace millrace::service {

/// Thread-safe, as StreamWriter.
class StreamWatch final : public StreamWriter<v1::WatchStreamsResponse> {
 public:
  /// Where a watcher begins.
  struct Place {
    /// Empty: all streams.
    std::string stream = {};
    /// What each stream is doing, and the cursor behind that.
    std::deque<StreamEvent> now = {};
    StreamEvents::Cursor cursor = 0;
  };

  /// Where one begins who watches `stream`, or all where that is empty, from this moment on.
  /// NOT_FOUND if there is no such stream in `events`, which alone knows whether its end is still
  /// to come.
  [[nodiscard]] static absl::StatusOr<Place> PlaceIn(const StreamEvents& events,
                                                     const std::string& stream);

  /// Both must outlive it. Begin() must follow.
  StreamWatch(const StreamEvents& events, Place place, Subscribers& subscribers);

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
  std::uint64_t missed_ = 0;  // And not told yet.
  bool deleted_ = false;
};

}  // namespace millrace::service
