// Plays a file in real time: computes when each frame is due.
//
// The schedule uses the file's timestamps, not a sum of waits, so it does not drift: 10 frames a
// second stay 10.0 without limit. When a looped file starts again, its first frame is due one frame
// interval after the last one.
#pragma once

#include <chrono>
#include <optional>

namespace millrace::ingest {

/// Maps stream times to due times on the monotonic clock. Not thread-safe.
class Pacer {
 public:
  /// The due time of the frame at `stream_time`. `duration` is its display time if the file has it.
  /// The first frame is due at `now`. The schedule falls at most one second behind, for example
  /// after sleep or with a slow decoder. Beyond that it continues from `now` and does not hurry
  /// through the missed time.
  [[nodiscard]] std::chrono::nanoseconds Due(std::chrono::nanoseconds stream_time,
                                             std::optional<std::chrono::nanoseconds> duration,
                                             std::chrono::nanoseconds now);

  /// The next frame is the first of a new round: timestamps start again, but due times go on.
  void BeginRound() { round_begins_ = true; }

 private:
  std::optional<std::chrono::nanoseconds> last_due_;
  std::chrono::nanoseconds last_stream_time_{0};
  std::chrono::nanoseconds interval_{0};  ///< From the last frame to the next.
  std::chrono::nanoseconds offset_{0};    ///< Due time minus stream time, in this round.
  bool round_begins_ = false;
};

}  // namespace millrace::ingest
