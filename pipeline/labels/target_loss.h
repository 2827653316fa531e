// Losses of an output against a known target, for learning from a user's own samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// A loss of an output against a target, each of one sample with a batch dimension of 1.
class TargetLoss {
 public:
  /// The loss called "mse", "l1" or "cross_entropy". INVALID_ARGUMENT, naming them, for another
  /// name.
  [[nodiscard]] static absl::StatusOr<TargetLoss> Named(std::string_view name);

  /// INVALID_ARGUMENT, naming `what`, the output's source, unless all samples' `targets` fit.
  [[nodiscard]] absl::Status CheckFits(const at::Tensor& output, const at::Tensor& targets,
                                       const std::string& what) const;

  /// The scalar to minimise. REQUIRES: CheckFits() is OK.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& output, const at::Tensor& target) const;

 private:
  enum class Kind { kMse, kL1, kCrossEntropy };
  explicit TargetLoss(Kind kind) : kind_(kind) {}

  Kind kind_;
};

}  // namespace millrace::pipeline
