// Reads the password with which Millrace logs in to a camera.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

/// Whether `login` names a place for the password.
[[nodiscard]] bool HasPassword(const Login& login);

/// Reads the password from the file or variable in `login`. FAILED_PRECONDITION with the remedy if
/// that fails; the message never contains the password.
[[nodiscard]] absl::StatusOr<std::string> ReadPassword(const Login& login);

}  // namespace millrace::ingest
