// Samples of a data set with their classes, stored like the known data sets: one byte for each
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

struct LabelledSamples {
  /// The shape of one sample: channels, rows, columns.
  std::vector<std::int64_t> shape = {};
  /// The value of one unit of a byte, so that a sample's numbers are 0 to 1.
  float unit = 1;
  int classes = 0;
  /// All samples in a row, each in the order of its shape.
  std::vector<std::uint8_t> bytes = {};
  /// The class of each sample, 0 to classes - 1.
  std::vector<int> labels = {};

  [[nodiscard]] std::size_t count() const { return labels.size(); }
  /// The count of numbers in one sample.
  [[nodiscard]] std::size_t size() const;
  /// The numbers of sample `i`. REQUIRES: i < count().
  [[nodiscard]] std::vector<float> values(std::size_t i) const;
};

/// Two parts of `all`. The second has `share` of the samples, picked at random by `seed`. Both keep
/// the order of `all`. REQUIRES: 0 <= share <= 1.
struct Split {
  LabelledSamples train;
  LabelledSamples test;
};
[[nodiscard]] Split SplitSamples(const LabelledSamples& all, double share, std::uint64_t seed);

}  // namespace millrace::pipeline
