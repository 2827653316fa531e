// Samples of a data set with their classes, as the known data sets keep them: a byte a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

struct LabelledSamples {
  /// Of one sample: channels, rows, columns.
  std::vector<std::int64_t> shape = {};
  /// What a byte is worth: a sample's numbers are 0 to 1.
  float unit = 1;
  int classes = 0;
  /// Sample after sample, each in the order of its shape.
  std::vector<std::uint8_t> bytes = {};
  /// Of each sample, 0 to classes - 1.
  std::vector<int> labels = {};

  [[nodiscard]] std::size_t count() const { return labels.size(); }
  /// Numbers of one sample.
  [[nodiscard]] std::size_t size() const;
  /// The numbers of sample `i`. REQUIRES: i < count().
  [[nodiscard]] std::vector<float> values(std::size_t i) const;
};

/// Two parts of `all`, with `share` of the samples in the second, picked at random by `seed`; the
/// order is `all`'s. REQUIRES: 0 <= share <= 1.
struct Split {
  LabelledSamples train;
  LabelledSamples test;
};
[[nodiscard]] Split SplitSamples(const LabelledSamples& all, double share, std::uint64_t seed);

}  // namespace millrace::pipeline
