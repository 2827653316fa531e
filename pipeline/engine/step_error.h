// Why a step failed, for those who have to tell one reason from another.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// What a step throws so that the engine stops with a code of its own; all else is INTERNAL.
class StepError : public std::runtime_error {
 public:
  explicit StepError(const absl::Status& cause)
      : std::runtime_error(std::string(cause.message())), code_(cause.code()) {}
  [[nodiscard]] absl::StatusCode code() const { return code_; }

 private:
  absl::StatusCode code_;
};

}  // namespace millrace::pipeline
