// What the runs of several seeds come to.
#pragma once

#include <vector>

namespace millrace::service {

struct MeanAndDeviation {
  double mean = 0;
  /// Of a sample; 0 of a single value.
  double deviation = 0;
};

/// REQUIRES: not empty.
[[nodiscard]] MeanAndDeviation MeanOf(const std::vector<double>& values);

}  // namespace millrace::service
