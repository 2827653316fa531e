// What a GPU fails with, as people are told of it.
#pragma once

#include <exception>

#include "absl/status/status.h"
#include "pipeline/engine/step_error.h"

namespace millrace::pipeline {

/// ABORTED, saying what to do, where a GPU's memory is full or a GPU has failed: what no process
/// that has met it recovers from. No other code, because a disk, descriptors and a budget can be
/// full, too (RESOURCE_EXHAUSTED). INTERNAL: anything else.
[[nodiscard]] absl::Status FailureOf(const std::exception& thrown);

/// Does `task` for an engine: what it throws, is thrown on with the code of FailureOf().
template <typename Task>
auto SayingWhy(const Task& task) {
  try {
    return task();
  } catch (const std::exception& e) {
    throw StepError(FailureOf(e));
  }
}

}  // namespace millrace::pipeline
