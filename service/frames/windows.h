// Statistics over the recent past: rates, quantiles of the delay, mean losses.
//
// The caller passes the time, so that tests need no clock. The classes are not thread-safe; their
// owner guards them. Each holds a limited number of readings; beyond it, its window becomes
// shorter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace millrace::service {

/// The window of the rates and quantiles.
inline constexpr std::chrono::nanoseconds kWindow = std::chrono::seconds(10);
/// The number of predictions in the mean losses.
inline constexpr std::size_t kLossWindow = 200;

/// The rate of a counter over the last ten seconds, or since its first reading.
class RateWindow {
 public:
  /// Records that the counter has the value `count` at `time`. REQUIRES: neither goes backwards.
  void Record(std::chrono::nanoseconds time, std::uint64_t count);

  /// The rate per second, if the counter has the value `count` at `now`. REQUIRES: `count` is at
  /// least the last reading. Falls towards 0 when the counter is late, and is 0 ten seconds after
  /// its last change.
  [[nodiscard]] double PerSecond(std::chrono::nanoseconds now, std::uint64_t count) const;

 private:
  struct Reading {
    std::chrono::nanoseconds time;
    std::uint64_t count;
  };

  std::deque<Reading> readings_;
};

/// The delays of the last ten seconds.
class DelayWindow {
 public:
  /// REQUIRES: `time` does not go backwards.
  void Record(std::chrono::nanoseconds time, std::chrono::nanoseconds delay);

  /// The smallest delay that at least the share `quantile` of them does not exceed, in seconds; 0
  /// without a delay. REQUIRES: 0 < quantile <= 1.
  [[nodiscard]] double Quantile(double quantile, std::chrono::nanoseconds now) const;

 private:
  struct Reading {
    std::chrono::nanoseconds time;
    std::chrono::nanoseconds delay;
  };

  std::deque<Reading> readings_;
};

/// The mean of the last `kLossWindow` values.
class MeanWindow {
 public:
  void Record(double value);
  /// 0 before the first value.
  [[nodiscard]] double mean() const;

 private:
  std::deque<double> values_;
};

}  // namespace millrace::service
