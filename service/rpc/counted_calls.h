// Has gRPC count every call of our services by the status that it ends with, and time those that
// have one answer.
//
// The guard before each method (guard.h) decides whether a call is served, but does not see how it
// ends: handlers end their calls themselves, often on other threads and long after. gRPC's
// interceptors see every status that is sent, whoever sends it.
#pragma once

#include <grpcpp/server_builder.h>

#include <string>
#include <vector>

#include "service/access/call_counts.h"

namespace millrace::service {

/// Counts calls of these services, given by their full names, in `counts`, which must outlive the
/// server. To be called before the server is built, once.
void CountCalls(const std::vector<std::string>& services, CallCounts& counts,
                grpc::ServerBuilder& builder);

}  // namespace millrace::service
