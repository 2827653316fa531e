// Counts every call of our services by its final status, and measures the duration of calls with
// one response.
//
// The guard (guard.h) decides whether to serve a call, but does not see its end. Handlers finish
// calls later, often on other threads. gRPC's interceptors see every status that is sent.
#pragma once

#include <grpcpp/server_builder.h>

#include <string>
#include <vector>

#include "service/access/call_counts.h"

namespace millrace::service {

/// Counts calls of `services` (full names) in `counts`, which must outlive the server. Call it
/// once, before the server is built.
void CountCalls(const std::vector<std::string>& services, CallCounts& counts,
                grpc::ServerBuilder& builder);

}  // namespace millrace::service
