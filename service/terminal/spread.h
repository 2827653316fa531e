// The median of some measurements, and how far they lay apart.
#pragma once

#include <string>
#include <vector>

namespace millrace::service {

struct Spread {
  double median = 0;
  double least = 0;
  double greatest = 0;
};

/// REQUIRES: not empty.
[[nodiscard]] Spread SpreadOf(std::vector<double> values);

/// Of each turn, the value over the baseline's. REQUIRES: as many of both, not none.
[[nodiscard]] Spread RatioOf(const std::vector<double>& values,
                             const std::vector<double>& baseline);

/// "1.62 (1.48 to 1.71)", with so many digits after the point.
[[nodiscard]] std::string Text(const Spread& spread, int digits);

}  // namespace millrace::service
