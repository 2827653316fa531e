// The one place where an error of ours becomes an error on the wire.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace millrace::service {

/// The same error for gRPC. Both libraries use the same codes.
inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace millrace::service
