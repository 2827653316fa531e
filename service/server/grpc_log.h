// gRPC's and protobuf's own messages, in the server's log instead of beside it.
#pragma once

namespace millrace::service {

enum class GrpcSide { kServer, kClient };

/// From now on their messages go to spdlog's default logger, which must be set up. How many gRPC
/// has to say the variable GRPC_VERBOSITY decides: errors, unless it is set. To be called before
/// anything of gRPC. A server has a warning, in words of its own, of each client that does not get
/// on with its TLS. A client has none: its call fails with it.
void LogGrpc(GrpcSide side = GrpcSide::kServer);

}  // namespace millrace::service
