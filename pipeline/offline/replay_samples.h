// The recorded samples of `millrace replay`.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Inputs and targets, sample first, of the same count, at least one. On the CPU.
struct ReplaySamples {
  at::Tensor inputs;
  at::Tensor targets;

  [[nodiscard]] std::int64_t count() const { return inputs.size(0); }
  /// The tensors of one sample, with a batch dimension of 1.
  [[nodiscard]] at::Tensor input(std::int64_t i) const { return inputs.narrow(0, i, 1); }
  [[nodiscard]] at::Tensor target(std::int64_t i) const { return targets.narrow(0, i, 1); }
};

/// Reads a file of the tensors `inputs` and `targets`. Fails with NOT_FOUND or INVALID_ARGUMENT,
/// saying what to do.
[[nodiscard]] absl::StatusOr<ReplaySamples> ReadSamples(const std::string& path);

}  // namespace millrace::pipeline
