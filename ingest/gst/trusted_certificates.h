// The certificates against which an RTSPS camera's certificate is checked.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): it is GIO's.
struct _GTlsDatabase;

namespace millrace::ingest {

using TrustedCertificates = std::unique_ptr<_GTlsDatabase, void (*)(_GTlsDatabase*)>;

/// Reads the PEM certificates in `ca_file`. FAILED_PRECONDITION with the remedy if it cannot read
/// them.
[[nodiscard]] absl::StatusOr<TrustedCertificates> ReadTrusted(const std::string& ca_file);

}  // namespace millrace::ingest
