// The last W samples of a stream as one batch.
//
//   W = 4     step 5   rows  4 5 2 3     sample n lies in row n mod 4
//             step 6         4 5 6 3
//
// Only one row changes per step. So a schedule whose backward uses the activations of a later step
// uses nearly the same rows.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Rows of samples. The first sample also fills the rows of samples that have not arrived yet. So
/// the network sees only real samples, and no label makes it learn from the copies. Not
/// thread-safe.
class SampleWindow {
 public:
  /// `first`: the number of the first sample. REQUIRES: rows >= 1, first >= 0.
  explicit SampleWindow(int rows, std::int64_t first = 0) : rows_(rows), next_(first) {}

  /// The batch after `sample` (without a batch dimension) has replaced the oldest row. Batches
  /// returned before do not change.
  [[nodiscard]] at::Tensor Add(const at::Tensor& sample);

 private:
  int rows_;
  std::int64_t next_;
  at::Tensor batch_;
};

}  // namespace millrace::pipeline
