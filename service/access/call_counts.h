// Counts the calls of each API method, their status codes and their durations.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "prometheus/client_metric.h"
#include "prometheus/histogram.h"

namespace millrace::service {

/// Counts calls by method and by final status code. Thread-safe.
class CallCounts {
 public:
  CallCounts();

  /// gRPC and absl have the same status codes: 0 to 16.
  static constexpr std::size_t kCodes = 17;

  /// The counts of one method, indexed by the status code.
  struct Method {
    std::string name;
    std::array<std::uint64_t, kCodes> calls = {};
  };

  /// Starts to count the calls of `methods`, such as "millrace.v1.StreamService/GetStream".
  void Expect(const std::vector<std::string>& methods) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool Expects(std::string_view method) const ABSL_LOCKS_EXCLUDED(mu_);

  /// Counts a call that has ended. REQUIRES: `method` is expected, and 0 <= code < kCodes.
  void Add(std::string_view method, int code) ABSL_LOCKS_EXCLUDED(mu_);

  /// Records the duration of a call with one response. All methods share one histogram, because a
  /// histogram for each method would be hundreds of series.
  void AddDuration(std::chrono::nanoseconds took) ABSL_LOCKS_EXCLUDED(mu_);

  /// The histogram of all recorded durations, in seconds.
  [[nodiscard]] prometheus::ClientMetric Durations() const ABSL_LOCKS_EXCLUDED(mu_);

  /// The counts of every expected method, ordered by name.
  [[nodiscard]] std::vector<Method> Read() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, Method, std::less<>> methods_ ABSL_GUARDED_BY(mu_);
  prometheus::Histogram durations_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
