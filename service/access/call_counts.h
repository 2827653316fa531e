// How often each method of the API was called, what the calls ended with, and how long they took.
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

/// Counts calls by method and by the code of the status that they ended with. Thread-safe.
class CallCounts {
 public:
  CallCounts();

  /// The codes of gRPC's statuses, and of absl's, which are the same: 0 to 16.
  static constexpr std::size_t kCodes = 17;

  /// Of one method; indexed by the code.
  struct Method {
    std::string name;
    std::array<std::uint64_t, kCodes> calls = {};
  };

  /// Counts the calls of these from now on: "millrace.v1.StreamService/GetStream".
  void Expect(const std::vector<std::string>& methods) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool Expects(std::string_view method) const ABSL_LOCKS_EXCLUDED(mu_);

  /// A call has ended. REQUIRES: `method` is expected, and 0 <= code < kCodes.
  void Add(std::string_view method, int code) ABSL_LOCKS_EXCLUDED(mu_);

  /// A call with one answer has ended, so long after it came: one histogram for all methods, as one
  /// for each would be hundreds of series.
  void AddDuration(std::chrono::nanoseconds took) ABSL_LOCKS_EXCLUDED(mu_);

  /// The histogram of what AddDuration() was told, in seconds.
  [[nodiscard]] prometheus::ClientMetric Durations() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Every method that is expected, by name.
  [[nodiscard]] std::vector<Method> Read() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, Method, std::less<>> methods_ ABSL_GUARDED_BY(mu_);
  prometheus::Histogram durations_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
