// Delays of a whole run in a fixed amount of memory, for quantiles that are right to half a
// percent.
//
// Buckets that grow by one percent from 0.1 ms to 1,000 s. Two histograms add up to that of both
// streams, which two quantiles would not.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::service {

/// Counts delays. A value: copy it freely. Not thread-safe.
class DelayHistogram {
 public:
  /// Counts `delay`; what is off the scale goes to its end.
  void Add(std::chrono::nanoseconds delay);
  void Add(const DelayHistogram& other);

  /// The delay in seconds that a share of `quantile` of them does not exceed; 0 when there is none.
  /// REQUIRES: 0 <= quantile <= 1.
  [[nodiscard]] double QuantileSeconds(double quantile) const;

  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  static constexpr std::size_t kBuckets = 1621;

  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace millrace::service
