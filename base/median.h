// The median. A few slow operations on a busy machine shift a mean, but not the median.
#pragma once

#include <algorithm>
#include <vector>

namespace millrace::pipeline {

/// For an even number of values, the mean of the two in the middle. For no values, 0.
[[nodiscard]] inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace millrace::pipeline
