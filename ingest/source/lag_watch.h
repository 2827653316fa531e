// Detects growing delay, because this machine decodes fewer pictures than the camera sends.
//
// The receiver of a camera's packets never waits for the decoder. Packets pile up between them
// until GStreamer discards all of them. No error occurs, no picture is missing, and a prediction's
// delay counts from decoding. But a picture's timestamp comes from the reception of its packets, so
// it falls behind the clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace millrace::ingest {

/// Checks the pictures of one session in windows of time. Not thread-safe.
class LagWatch {
 public:
  struct Lag {
    /// The newest picture's delay at decoding, relative to the smallest delay so far.
    std::chrono::nanoseconds behind{0};
    /// Pictures per second: by their timestamps, and as decoded.
    double sent = 0;
    double decoded = 0;
  };

  explicit LagWatch(std::chrono::nanoseconds window) : window_(window) {}

  /// Takes a picture with its timestamp, decoded at `now`. Returns the lag after three consecutive
  /// slow windows, and again every 15 minutes. In a slow window the timestamps fall behind by at
  /// least a tenth of the time.
  [[nodiscard]] std::optional<Lag> Take(std::chrono::nanoseconds stream_time,
                                        std::chrono::nanoseconds now);

  /// Starts a new session, whose timestamps start again.
  void Restart() { begin_.reset(); }

 private:
  struct Mark {
    std::chrono::nanoseconds stream_time;
    std::chrono::nanoseconds now;
  };

  const std::chrono::nanoseconds window_;
  std::optional<Mark> begin_;             ///< The start of the window.
  std::chrono::nanoseconds punctual_{0};  ///< The smallest delay so far, with an arbitrary origin.
  std::int64_t pictures_ = 0;             ///< Pictures in the window.
  int slow_windows_ = 0;
  std::optional<std::chrono::nanoseconds> said_;
};

}  // namespace millrace::ingest
