#include "pipeline/evaluation/ause.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

/// The area under the sparsification curve by `keys`. Equal keys share their mean error.
template <typename Key>
double AreaUnderCurve(std::span<const double> errors, std::span<const Key> keys) {
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [keys](std::size_t pixel) { return keys[pixel]; });
  double sum = 0;
  double area = 0;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    double of_equals = 0;
    while (end < order.size() && keys[order[end]] == keys[order[first]]) {
      of_equals += errors[order[end++]];
    }
    const double each = of_equals / static_cast<double>(end - first);
    for (; first < end; ++first) {
      sum += each;
      area += sum / static_cast<double>(first + 1);
    }
  }
  return area / static_cast<double>(order.size());
}

}  // namespace

std::optional<double> RelativeAuse(std::span<const double> errors,
                                   std::span<const float> uncertainty) {
  MILLRACE_CHECK(errors.size() == uncertainty.size());
  if (errors.empty()) return std::nullopt;
  const auto [min, max] = std::ranges::minmax(errors);
  if (min == max) return std::nullopt;
  // Pixels that are removed at random leave the mean unchanged.
  const double random =
      std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  const double best = AreaUnderCurve(errors, errors);
  return (AreaUnderCurve(errors, uncertainty) - best) / (random - best);
}

}  // namespace millrace::pipeline
