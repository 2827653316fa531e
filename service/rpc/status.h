// The only conversion of our errors into gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace millrace::service {

/// The same error for gRPC; both libraries use the same codes. Its details are a google.rpc.Status
/// with one ErrorInfo, a BadRequest if fields are wrong, and a RetryInfo if a retry can help. The
/// reason of the ErrorInfo is that of error_reason.h, or else the code's name. Texts too long for
/// gRPC are truncated. `violations_left_out` of the ErrorInfo counts wrong fields that are missing
/// in the BadRequest.
[[nodiscard]] grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace millrace::service
