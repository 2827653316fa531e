// Tells that a camera's pictures come out later and later, because this machine decodes fewer than
// the camera sends.
//
// What receives a camera's packets never waits for the decoder: they pile up in between, until
// GStreamer throws all of them away at some point. Nothing fails, no picture is missing, and a
// prediction's delay begins when its picture was decoded. But a picture's own time was set by when
// its packets were received: it falls behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace millrace::ingest {

/// Judges one session's pictures by windows of time. Not thread-safe.
class LagWatch {
 public:
  struct Lag {
    /// How much later than the most punctual one the newest picture was decoded.
    std::chrono::nanoseconds behind{0};
    /// Pictures a second, by their own times and as they were decoded.
    double sent = 0;
    double decoded = 0;
  };

  explicit LagWatch(std::chrono::nanoseconds window) : window_(window) {}

  /// The next picture has this time and was decoded now. Returns how far they lag once three
  /// windows running have each lost a tenth of their time, and a quarter of an hour later again.
  [[nodiscard]] std::optional<Lag> Take(std::chrono::nanoseconds stream_time,
                                        std::chrono::nanoseconds now);

  /// Another session: its times begin anew.
  void Restart() { begin_.reset(); }

 private:
  struct Mark {
    std::chrono::nanoseconds stream_time;
    std::chrono::nanoseconds now;
  };

  const std::chrono::nanoseconds window_;
  std::optional<Mark> begin_;             ///< Of the window.
  std::chrono::nanoseconds punctual_{0};  ///< The least that a picture was late, on any scale.
  std::int64_t pictures_ = 0;             ///< In the window.
  int slow_windows_ = 0;
  std::optional<std::chrono::nanoseconds> said_;
};

}  // namespace millrace::ingest
