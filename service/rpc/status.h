// The one place where an error of ours becomes an error on the wire.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace millrace::service {

/// The same error for gRPC: both libraries use the same codes. Its details are a google.rpc.Status
/// with one ErrorInfo, whose reason is that of error_reason.h or else the code's name, a BadRequest
/// where fields are wrong, and a RetryInfo where trying again can help. What is too long for gRPC
/// is shortened: `violations_left_out` of the ErrorInfo counts wrong fields that are not in
/// BadRequest.
[[nodiscard]] grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace millrace::service
