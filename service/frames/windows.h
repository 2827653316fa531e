// Figures over the recent past: rates, quantiles of the delay, mean losses.
//
// All are told the time by their caller, so that tests need no clock. None is thread-safe: their
// owner guards them. Each holds a bounded number of readings; under more of them than that, its
// window only gets shorter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace millrace::service {

/// How far back the rates and the quantiles look.
inline constexpr std::chrono::nanoseconds kWindow = std::chrono::seconds(10);
/// How many predictions the mean losses cover.
inline constexpr std::size_t kLossWindow = 200;

/// How fast a counter has grown over the last ten seconds, or since its first reading.
class RateWindow {
 public:
  /// The counter stood at `count` since `time`. REQUIRES: neither goes backwards.
  void Record(std::chrono::nanoseconds time, std::uint64_t count);

  /// Counts a second, where the counter stands at `count` by now: not below its last reading. Falls
  /// towards 0 once the counter is late, and is 0 ten seconds after its last change.
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

  /// The smallest delay that at least the share `quantile` of them stayed within, in seconds; 0
  /// when there are none. REQUIRES: 0 < quantile <= 1.
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
