// The cause of a failed step, with a status code that callers can test.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// A step throws it to stop the engine with this code. Any other exception means INTERNAL.
class StepError : public std::runtime_error {
 public:
  explicit StepError(const absl::Status& cause)
      : std::runtime_error(std::string(cause.message())), code_(cause.code()) {}
  [[nodiscard]] absl::StatusCode code() const { return code_; }

 private:
  absl::StatusCode code_;
};

}  // namespace millrace::pipeline
