// The interval between a camera's frames, to detect that a camera has stalled.
//
// Neither the announced interval nor the last measured one is reliable. Many cameras announce
// nothing or a wrong value. TCP delivers frames in bursts with almost no time between them. A past
// outage is one long interval and says nothing about the next one.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace millrace::ingest {

/// The longest of the last eight intervals, except a single stalled one: one stall is a fault, two
/// are normal for this camera. With fewer than eight intervals, at least the announced interval.
/// Not thread-safe.
class FrameRhythm {
 public:
  /// `unknown` is the interval of a camera that has announced none. A camera slower than `slowest`
  /// must announce its interval; otherwise the limit of a failing camera would grow with each
  /// frame.
  FrameRhythm(std::chrono::nanoseconds unknown, std::chrono::nanoseconds slowest)
      : unknown_(unknown), slowest_(slowest) {}

  /// The camera announces the interval of its frames. A new value discards the measured intervals.
  void Announce(std::chrono::nanoseconds interval);
  /// A frame came `interval` after the one before. `stalled`: the source had already counted the
  /// camera as stalled.
  void Add(std::chrono::nanoseconds interval, bool stalled);
  /// Starts a new session: discards all intervals.
  void Restart();

  /// The expected maximum interval to the next frame.
  [[nodiscard]] std::chrono::nanoseconds Interval() const;

 private:
  struct Measurement {
    std::chrono::nanoseconds interval;
    bool stalled;
  };

  // Constant after construction.
  const std::chrono::nanoseconds unknown_;
  const std::chrono::nanoseconds slowest_;

  std::optional<std::chrono::nanoseconds> announced_;
  std::deque<Measurement> latest_;  ///< The latest intervals.
};

}  // namespace millrace::ingest
