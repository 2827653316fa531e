// How the gRPC port proves who it is, and asks its clients to.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/access/grpc_security.h"

namespace millrace::service {

/// OK if the files hold what they should. NOT_FOUND if one cannot be read; INVALID_ARGUMENT if
/// one holds no certificate or key, the key is another certificate's or open to everybody on this
/// machine, or the certificate or all of the clients' authorities have expired. Messages name the
/// configuration's key and the file.
[[nodiscard]] absl::Status CheckTls(const GrpcSecurity::Tls& tls);

/// Plain text, or TLS whose files are looked at every second: new calls get what they hold then.
/// While key and certificate do not fit together, as between the writing of the two, new
/// connections fail. Fails as CheckTls().
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(
    const GrpcSecurity::Tls& tls);

}  // namespace millrace::service
