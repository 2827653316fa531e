// A learning rate that users can set while a learner runs.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace millrace::pipeline {

/// Whether `rate` is allowed. A NaN is not.
[[nodiscard]] constexpr bool IsLearningRate(double rate) { return rate >= 0 && rate <= 1; }

/// `rate` as a factor of the `configured` one. Fails as Learner::SetLearningRate() does.
[[nodiscard]] inline absl::StatusOr<double> RateFactor(double rate, double configured) {
  if (!IsLearningRate(rate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the learning rate is ", rate, "; it must be from 0 to 1"));
  }
  if (configured == 0) {
    return absl::FailedPreconditionError(
        "the model was made with a learning rate of 0 and cannot learn; configure another");
  }
  return rate / configured;
}

}  // namespace millrace::pipeline
