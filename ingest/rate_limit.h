// Lets so many frames a second through, evenly, by the stream's own time.
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

}  // namespace millrace::ingest
