#include "service/terminal/mean_and_deviation.h"

#include <cmath>

#include "base/check.h"

namespace millrace::service {

MeanAndDeviation MeanOf(const std::vector<double>& values) {
  MILLRACE_CHECK(!values.empty());
  const auto count = static_cast<double>(values.size());
  MeanAndDeviation found;
  for (const double value : values) found.mean += value / count;
  if (values.size() == 1) return found;
  for (const double value : values) {
    found.deviation += std::pow(value - found.mean, 2) / (count - 1);
  }
  found.deviation = std::sqrt(found.deviation);
  return found;
}

}  // namespace millrace::service
