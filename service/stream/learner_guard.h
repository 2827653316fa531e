// Converts exceptions of foreign libraries inside the learner to a status.
#pragma once

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {

/// Runs `call` and returns its status, or INTERNAL if it throws.
template <typename Call>
absl::Status Guarded(Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the learner threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("the learner threw something that is no std::exception");
  }
}

}  // namespace millrace::service
