// The median and the range of repeated measurements.
#pragma once

#include <string>
#include <vector>

namespace millrace::service {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// REQUIRES: `values` is not empty.
[[nodiscard]] Spread SpreadOf(std::vector<double> values);

/// The spread of values[i] / baseline[i]. REQUIRES: both have the same size and are not empty.
[[nodiscard]] Spread RatioOf(const std::vector<double>& values,
                             const std::vector<double>& baseline);

/// "1.62 (1.48 to 1.71)", with `digits` digits after the point.
[[nodiscard]] std::string Text(const Spread& spread, int digits);

}  // namespace millrace::service
