// What a GPU fails with, as people are told of it.
#pragma once

#include <exception>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// RESOURCE_EXHAUSTED where a GPU's memory is full, ABORTED where a GPU has failed, from which it
/// recovers in no process that has met it; each saying what to do. INTERNAL: anything else.
[[nodiscard]] absl::Status FailureOf(const std::exception& thrown);

}  // namespace millrace::pipeline
