#include "service/terminal/spread.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace millrace::service {

Spread SpreadOf(std::vector<double> values) {
  MILLRACE_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  return {.median = odd ? values[half] : (values[half - 1] + values[half]) / 2,
          .min = values.front(),
          .max = values.back()};
}

Spread RatioOf(const std::vector<double>& values, const std::vector<double>& baseline) {
  MILLRACE_CHECK(values.size() == baseline.size());
  std::vector<double> ratios;
  for (std::size_t turn = 0; turn < values.size(); ++turn) {
    ratios.push_back(values[turn] / baseline[turn]);
  }
  return SpreadOf(std::move(ratios));
}

std::string Text(const Spread& spread, int digits) {
  return absl::StrFormat("%.*f (%.*f to %.*f)", digits, spread.median, digits, spread.min, digits,
                         spread.max);
}

}  // namespace millrace::service
