// Calls that end at once.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "service/own_reactor.h"
#include "service/status.h"

namespace millrace::service {

/// Ends a call of one response with `status`.
inline grpc::ServerUnaryReactor* EndCall(grpc::CallbackServerContext& context,
                                         const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

/// Ends a call that would have streamed `Response`s, with `status` for its outcome.
template <typename Response>
class RefusedStream final : public OwnReactor<grpc::ServerWriteReactor<Response>> {
 public:
  /// REQUIRES: `status` is an error.
  explicit RefusedStream(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
};

/// The same of a call that would have taken `Request`s, too.
template <typename Request, typename Response>
class RefusedExchange final : public OwnReactor<grpc::ServerBidiReactor<Request, Response>> {
 public:
  /// REQUIRES: `status` is an error.
  explicit RefusedExchange(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
};

}  // namespace millrace::service
