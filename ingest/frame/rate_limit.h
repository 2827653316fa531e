// Limits frames per second. RateLimit does it evenly by the stream's timestamps. ArrivalLimit does
// it approximately by arrival, for a camera whose timestamps cannot be trusted.
#pragma once

#include <chrono>
#include <optional>

namespace millrace::ingest {

/// The interval of this rate: at most a day, because an interval for a rate of nearly 0 does not
/// fit into nanoseconds. REQUIRES: frames_per_second > 0.
[[nodiscard]] std::chrono::nanoseconds FrameInterval(double frames_per_second);

/// Keeps the mean rate: of 25 frames a second, a limit of 10 passes 10, not the 8 of every third
/// frame. A stream within the limit loses no frame, even if each timestamp is up to a fifth of its
/// interval early or late. Not thread-safe.
class RateLimit {
 public:
  /// 0: all frames pass. REQUIRES: not negative.
  explicit RateLimit(double frames_per_second);

  /// Whether the frame with this time passes. The first one passes.
  [[nodiscard]] bool Passes(std::chrono::nanoseconds stream_time);

  /// The timestamps start again.
  void Restart() { due_.reset(); }

 private:
  const std::chrono::nanoseconds interval_;
  std::optional<std::chrono::nanoseconds> due_;  // Due time of the next frame.
};

/// Limits frames by their arrival; RateLimit trusts the stream's timestamps. A stream within the
/// limit by its own clock loses no frame, even if that clock is a fifth too fast. A burst after a
/// network delay of two seconds passes too. Not thread-safe.
class ArrivalLimit {
 public:
  /// 0: all frames pass. REQUIRES: not negative.
  explicit ArrivalLimit(double frames_per_second);

  /// Whether the frame that arrives now passes. The maximum is the limit plus a quarter, and a
  /// burst of two seconds' frames.
  [[nodiscard]] bool Passes(std::chrono::nanoseconds arrival);

 private:
  const std::chrono::nanoseconds interval_;
  const std::chrono::nanoseconds at_once_;
  std::optional<std::chrono::nanoseconds> due_;  // Due time of the next frame in an even stream.
};

}  // namespace millrace::ingest
