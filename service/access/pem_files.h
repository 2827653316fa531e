// Checks certificates and keys in PEM before gRPC uses them, because gRPC's own errors say less.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::service {

/// A PEM file. `name` is the configuration key or the option that names it in messages.
struct PemFile {
  const std::string& path;
  std::string_view name;
};

/// The identity of one side of a connection: a certificate with its intermediates, and its key.
struct Identity {
  std::string certificate;
  std::string key;
};

/// The period in which a certificate is valid, as times since 1970.
struct Validity {
  std::chrono::nanoseconds from{0};
  std::chrono::nanoseconds until{0};
};

/// The contents of `file`, which must begin with a certificate. Any other file gives NOT_FOUND or
/// INVALID_ARGUMENT with the reason. No message repeats the contents.
[[nodiscard]] absl::StatusOr<std::string> ReadCertificates(const PemFile& file);

/// The validity of each certificate in `file`, at least one. Fails as ReadCertificates() does.
[[nodiscard]] absl::StatusOr<std::vector<Validity>> ReadValidities(const PemFile& file);

/// OK if at least one certificate of an authority in `file` has not expired. Fails as
/// ReadCertificates() does.
[[nodiscard]] absl::Status CheckAuthorities(const PemFile& file);

/// Reads a certificate and its key. Fails as ReadCertificates() and ReadPrivateFile() do, and if
/// the certificate has expired or the key does not match it.
[[nodiscard]] absl::StatusOr<Identity> ReadIdentity(const PemFile& certificate, const PemFile& key);

}  // namespace millrace::service
