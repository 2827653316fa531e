// A robust mean of a stream of non-negative values, with occasional outliers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::pipeline {

/// A running mean over about the last thousand values. Each value counts with at most ten times the
/// mean so far (winsorized). Of the first twenty values, the largest is left out. So a single
/// outlier has little effect. It follows a change of scale: up within a thousand values or two,
/// down within some thousands. Not thread-safe.
class TypicalValue {
 public:
  /// REQUIRES: value >= 0 and finite.
  void Add(double value) {
    count_ = std::min(count_ + 1, kMaxCount);
    if (count_ <= kFirst) {
      sum_ += value;
      max_ = std::max(max_, value);
      mean_ = count_ == 1 ? value : (sum_ - max_) / static_cast<double>(count_ - 1);
      return;
    }
    const double taken = mean_ > 0 ? std::min(value, kTimes * mean_) : value;
    mean_ += (taken - mean_) / static_cast<double>(count_);
  }

  /// 0 before the first value.
  [[nodiscard]] double mean() const { return mean_; }

 private:
  static constexpr std::int64_t kFirst = 20;
  static constexpr std::int64_t kMaxCount = 1000;
  static constexpr double kTimes = 10;

  std::int64_t count_ = 0;
  double mean_ = 0;
  // Of the first kFirst values.
  double sum_ = 0;
  double max_ = 0;
};

}  // namespace millrace::pipeline
