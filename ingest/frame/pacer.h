// Makes a file keep a camera's time: says when each of its frames is due.
//
// The schedule comes from the file's own timestamps, not from waits added up, so it does not drift:
// 10 frames a second stay 10.0 however long it runs. Where a looped file starts again, its first
// frame is due one frame interval after the last, as if the camera had never stopped.
#pragma once

#include <chrono>
#include <optional>

namespace millrace::ingest {

/// Maps stream times to due times on the monotonic clock. Not thread-safe.
class Pacer {
 public:
  /// When the frame at `stream_time`, shown for `duration` if the file says so, is due; `now` for
  /// the first. Falls behind by at most a second: after that (a machine that slept, or decodes too
  /// slowly) it goes on from `now`, rather than hurrying through what was missed.
  [[nodiscard]] std::chrono::nanoseconds Due(std::chrono::nanoseconds stream_time,
                                             std::optional<std::chrono::nanoseconds> duration,
                                             std::chrono::nanoseconds now);

  /// The next frame is the first of a new round: timestamps start again, time goes on.
  void BeginRound() { round_begins_ = true; }

 private:
  std::optional<std::chrono::nanoseconds> last_due_;
  std::chrono::nanoseconds last_stream_time_{0};
  std::chrono::nanoseconds interval_{0};  ///< From the last frame to the one after.
  std::chrono::nanoseconds offset_{0};    ///< Due time less stream time, in this round.
  bool round_begins_ = false;
};

}  // namespace millrace::ingest
