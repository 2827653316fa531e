#include "pipeline/data/labelled_samples.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace millrace::pipeline {
namespace {

LabelledSamples Empty(const LabelledSamples& like) {
  return {.shape = like.shape, .unit = like.unit, .classes = like.classes};
}

void Append(const LabelledSamples& from, std::size_t i, LabelledSamples& to) {
  const auto first = from.bytes.begin() + static_cast<std::ptrdiff_t>(i * from.size());
  to.bytes.insert(to.bytes.end(), first, first + static_cast<std::ptrdiff_t>(from.size()));
  to.labels.push_back(from.labels[i]);
}

}  // namespace

std::size_t LabelledSamples::size() const {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

std::vector<float> LabelledSamples::values(std::size_t i) const {
  MILLRACE_CHECK(i < count());
  std::vector<float> values;
  values.reserve(size());
  for (std::size_t k = i * size(); k < (i + 1) * size(); ++k) {
    values.push_back(static_cast<float>(bytes[k]) * unit);
  }
  return values;
}

Split SplitSamples(const LabelledSamples& all, double share, std::uint64_t seed) {
  MILLRACE_CHECK(share >= 0 && share <= 1);
  const auto wanted =
      static_cast<std::size_t>(std::lround(share * static_cast<double>(all.count())));
  Split split{.train = Empty(all), .test = Empty(all)};
  Random random(seed);
  for (std::size_t i = 0; i < all.count(); ++i) {
    // Each remaining sample is equally likely to be among the samples that the test part still
    // needs.
    const auto left = static_cast<double>(all.count() - i);
    const auto missing = static_cast<double>(wanted - split.test.count());
    Append(all, i, random.Uniform(0, left) < missing ? split.test : split.train);
  }
  return split;
}

}  // namespace millrace::pipeline
