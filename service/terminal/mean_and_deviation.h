// Mean and deviation over the runs of several seeds.
#pragma once

#include <vector>

namespace millrace::service {

struct MeanAndDeviation {
  double mean = 0;
  /// The sample's standard deviation; 0 for a single value.
  double deviation = 0;
};

/// REQUIRES: `values` is not empty.
[[nodiscard]] MeanAndDeviation MeanOf(const std::vector<double>& values);

}  // namespace millrace::service
