// gRPC's and protobuf's own messages, in the server's log instead of beside it.
#pragma once

namespace millrace::service {

/// From now on their messages go to spdlog's default logger, which must be set up. How many gRPC
/// has to say the variable GRPC_VERBOSITY decides: errors, unless it is set. To be called once,
/// before anything of gRPC.
void LogGrpc();

}  // namespace millrace::service
