// A histogram of delays in fixed memory, with quantiles accurate to half a percent.
//
// Its buckets grow by one percent from 0.1 ms to 1,000 s. Histograms of several streams can be
// added; quantiles could not.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::service {

/// Counts delays. A copyable value. Not thread-safe.
class DelayHistogram {
 public:
  /// Counts `delay`. Values outside the scale count in the first or last bucket.
  void Add(std::chrono::nanoseconds delay);
  void Add(const DelayHistogram& other);

  /// The quantile `quantile` of the delays, in seconds; 0 without delays. REQUIRES: 0 <= quantile
  /// <= 1.
  [[nodiscard]] double QuantileSeconds(double quantile) const;

  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  static constexpr std::size_t kBuckets = 1621;

  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace millrace::service
