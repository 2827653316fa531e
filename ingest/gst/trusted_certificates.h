// The certificates that an RTSPS camera's own is judged by.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): it is GIO's.
struct _GTlsDatabase;

namespace millrace::ingest {

using TrustedCertificates = std::unique_ptr<_GTlsDatabase, void (*)(_GTlsDatabase*)>;

/// Those in `ca_file`, in PEM. FAILED_PRECONDITION, with what to do, where they cannot be read.
[[nodiscard]] absl::StatusOr<TrustedCertificates> ReadTrusted(const std::string& ca_file);

}  // namespace millrace::ingest
