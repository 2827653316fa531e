#include "service/registry/summary_delays.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace millrace::service {
namespace {

constexpr double kMinSeconds = 1e-4;
constexpr double kGrowth = 1.01;

}  // namespace

void DelayHistogram::Add(std::chrono::nanoseconds delay) {
  const double seconds = std::chrono::duration<double>(delay).count();
  const double place = std::log(std::max(seconds, kMinSeconds) / kMinSeconds) / std::log(kGrowth);
  ++buckets_[std::min(static_cast<std::size_t>(place), kBuckets - 1)];
  ++count_;
}

void DelayHistogram::Add(const DelayHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
}

double DelayHistogram::QuantileSeconds(double quantile) const {
  MILLRACE_CHECK(quantile >= 0 && quantile <= 1);
  if (count_ == 0) return 0;
  const auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += buckets_[bucket]) < rank) ++bucket;
  return kMinSeconds * std::pow(kGrowth, static_cast<double>(bucket) + 0.5);
}

}  // namespace millrace::service
