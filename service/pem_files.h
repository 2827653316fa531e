// Certificates and keys in PEM, looked at before gRPC gets them: it would say less of what is
// wrong.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::service {

/// A file, and what names it in messages: a key of the configuration or an option.
struct PemFile {
  const std::string& path;
  std::string_view name;
};

/// What one side of a connection shows: a certificate, with those in between, and its key.
struct Identity {
  std::string certificate;
  std::string key;
};

/// What `file` holds, which begins with a certificate. NOT_FOUND or INVALID_ARGUMENT, with what is
/// wrong, for any other file; no message repeats what a file holds.
[[nodiscard]] absl::StatusOr<std::string> ReadCertificates(const PemFile& file);

/// The same of a certificate that has not expired and its key, which is kept from others.
[[nodiscard]] absl::StatusOr<Identity> ReadIdentity(const PemFile& certificate, const PemFile& key);

}  // namespace millrace::service
