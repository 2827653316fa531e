// Routes gRPC's and protobuf's own messages to the server's log.
#pragma once

namespace millrace::service {

enum class GrpcSide { kServer, kClient };

/// From now on their messages go to spdlog's default logger, which must be set up. The variable
/// GRPC_VERBOSITY sets gRPC's level: errors, unless it is set. Call it before any other gRPC
/// function. A server logs a warning for each client whose TLS handshake fails. A client logs none:
/// its call fails with the reason.
void LogGrpc(GrpcSide side = GrpcSide::kServer);

}  // namespace millrace::service
