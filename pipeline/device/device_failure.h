// The status for a GPU's failure, with a message for users.
#pragma once

#include <exception>

#include "absl/status/status.h"
#include "pipeline/engine/step_error.h"

namespace millrace::pipeline {

/// ABORTED, with advice, if a GPU's memory is full or a GPU has failed: the process cannot recover.
/// RESOURCE_EXHAUSTED is not used, because it also means a full disk, budget or descriptor table.
/// INTERNAL: any other failure.
[[nodiscard]] absl::Status FailureOf(const std::exception& thrown);

/// Runs `task` for an engine. Rethrows an exception as a StepError with the status of FailureOf(),
/// a StepError as it is.
template <typename Task>
auto RethrowAsStepError(const Task& task) {
  try {
    return task();
  } catch (const StepError&) {
    throw;
  } catch (const std::exception& e) {
    throw StepError(FailureOf(e));
  }
}

/// The Status or StatusOr of `call`. If `call` throws, FailureOf() the exception; a StepError has
/// its own code.
template <typename Call>
[[nodiscard]] auto FailureToStatus(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const StepError& e) {
    return absl::Status(e.code(), e.what());
  } catch (const std::exception& e) {
    return FailureOf(e);
  }
}

}  // namespace millrace::pipeline
