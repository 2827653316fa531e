// TLS credentials of the gRPC port.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/access/grpc_security.h"

namespace millrace::service {

/// OK for valid TLS files. NOT_FOUND if a file cannot be read. INVALID_ARGUMENT in these cases:
/// - A file has no certificate or no key.
/// - The key does not match the certificate, or every user of this machine can read it.
/// - The certificate has expired, or all of the clients' authorities have.
/// Messages name the configuration's key and the file.
[[nodiscard]] absl::Status CheckTls(const GrpcSecurity::Tls& tls);

/// Plain text, or TLS whose files are read again every second for new connections. While key and
/// certificate do not match, such as between the two writes, new connections fail. Fails as
/// CheckTls().
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(
    const GrpcSecurity::Tls& tls);

}  // namespace millrace::service
