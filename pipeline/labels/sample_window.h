// The last W samples of a stream as one batch.
//
//   W = 4     step 5   rows  4 5 2 3     sample n lies in row n mod 4
//             step 6         4 5 6 3
//
// One row changes from step to step, so that a schedule whose backward meets the activations of a
// later step meets nearly the same rows.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Rows of samples. Until W samples have come, the first one fills the rows of those that are
/// missing: a network sees nothing that is no sample, and no label makes it learn from them. Not
/// thread-safe.
class SampleWindow {
 public:
  /// `first`: the number of the first sample. REQUIRES: rows >= 1, first >= 0.
  explicit SampleWindow(int rows, std::int64_t first = 0) : rows_(rows), next_(first) {}

  /// The batch once `sample` (without a dimension of the batch) has taken the oldest one's row.
  /// What was returned before stays as it was.
  [[nodiscard]] at::Tensor Add(const at::Tensor& sample);

 private:
  int rows_;
  std::int64_t next_;
  at::Tensor batch_;
};

}  // namespace millrace::pipeline
