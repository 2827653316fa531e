// Keeps what foreign libraries throw inside the learner: a failure is a status from here on.
#pragma once

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {

/// Runs `call`, which may throw, and returns its status.
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
