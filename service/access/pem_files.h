// Certificates and keys in PEM, looked at before gRPC gets them: it would say less of what is
// wrong.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

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

/// When a certificate is valid, since 1970.
struct Validity {
  std::chrono::nanoseconds from{0};
  std::chrono::nanoseconds until{0};
};

/// What `file` holds, which begins with a certificate. NOT_FOUND or INVALID_ARGUMENT, with what is
/// wrong, for any other file; no message repeats what a file holds.
[[nodiscard]] absl::StatusOr<std::string> ReadCertificates(const PemFile& file);

/// Of each certificate of `file`, which has one at least. Fails as ReadCertificates() does.
[[nodiscard]] absl::StatusOr<std::vector<Validity>> ReadValidities(const PemFile& file);

/// OK if `file` holds certificates that have not all expired, of authorities that may sign those
/// of others. Fails as ReadCertificates() does.
[[nodiscard]] absl::Status CheckAuthorities(const PemFile& file);

/// The same of a certificate that has not expired and its key, which is kept from others.
[[nodiscard]] absl::StatusOr<Identity> ReadIdentity(const PemFile& certificate, const PemFile& key);

}  // namespace millrace::service
