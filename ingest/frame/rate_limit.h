// Lets so many frames a second through: evenly, by the stream's own time; and, of a camera whose
// times are not to be believed, not many more by the time at which they arrive.
#pragma once

#include <chrono>
#include <optional>

namespace millrace::ingest {

/// Between two frames at this rate: at most a day, for one of nearly 0 would not fit into
/// nanoseconds. REQUIRES: frames_per_second > 0.
[[nodiscard]] std::chrono::nanoseconds FrameInterval(double frames_per_second);

/// Keeps the mean rate: of 25 frames a second it lets 10 through, not the 8 of every third frame. A
/// stream that is no faster than the limit loses none, whether its timestamps are a fifth of its
/// own interval early or late. Not thread-safe.
class RateLimit {
 public:
  /// 0: everything passes. REQUIRES: not negative.
  explicit RateLimit(double frames_per_second);

  /// Whether the frame of this time passes. The first one does.
  [[nodiscard]] bool Passes(std::chrono::nanoseconds stream_time);

  /// Timestamps start again.
  void Restart() { due_.reset(); }

 private:
  const std::chrono::nanoseconds interval_;
  std::optional<std::chrono::nanoseconds> due_;  // Of the next one.
};

/// Bounds frames by their arrival, where RateLimit believes what a stream says of their times. One
/// that keeps to the limit by its own clock loses none, also where that clock is a fifth too fast,
/// and where what the network held back for two seconds comes at once. Not thread-safe.
class ArrivalLimit {
 public:
  /// 0: everything passes. REQUIRES: not negative.
  explicit ArrivalLimit(double frames_per_second);

  /// Whether the frame that arrives now passes: of those that did, at most a quarter more than the
  /// limit a second, and the frames of two seconds at once.
  [[nodiscard]] bool Passes(std::chrono::nanoseconds arrival);

 private:
  const std::chrono::nanoseconds interval_;
  const std::chrono::nanoseconds at_once_;
  std::optional<std::chrono::nanoseconds> due_;  // Of the next one, were they even.
};

}  // namespace millrace::ingest
