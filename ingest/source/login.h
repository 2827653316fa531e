// Who asks a camera for its pictures.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

/// Whether `login` says where the password is.
[[nodiscard]] bool HasPassword(const Login& login);

/// The password, from where `login` says. FAILED_PRECONDITION, with what to do, where it cannot be
/// had; never says the password.
[[nodiscard]] absl::StatusOr<std::string> ReadPassword(const Login& login);

}  // namespace millrace::ingest
