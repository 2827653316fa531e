// The mean of a stream of values that are not negative, of which some may be absurd.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::pipeline {

/// A running mean over about the last thousand values, into which each goes with at most ten times
/// the mean so far (winsorized): one value out of place moves it little, a change of scale within
/// a thousand or two. Not thread-safe.
class TypicalValue {
 public:
  /// REQUIRES: value >= 0 and finite.
  void Add(double value) {
    count_ = std::min(count_ + 1, kMost);
    const double taken = mean_ > 0 ? std::min(value, kTimes * mean_) : value;
    mean_ += (taken - mean_) / static_cast<double>(count_);
  }

  /// 0 before the first value.
  [[nodiscard]] double mean() const { return mean_; }

 private:
  static constexpr std::int64_t kMost = 1000;
  static constexpr double kTimes = 10;

  std::int64_t count_ = 0;
  double mean_ = 0;
};

}  // namespace millrace::pipeline
