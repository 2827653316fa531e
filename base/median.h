// The median, where a mean would follow the few operations that a busy machine held up.
#pragma once

#include <algorithm>
#include <vector>

namespace millrace::pipeline {

/// Of an even number the mean of the two in the middle; 0 of nothing.
[[nodiscard]] inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace millrace::pipeline
