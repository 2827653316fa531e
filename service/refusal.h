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

/// Ends a call that a `Reactor` would have served, with `status` for its outcome.
template <typename Reactor>
class RefusedCall final : public OwnReactor<Reactor> {
 public:
  /// REQUIRES: `status` is an error.
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
};

/// One that would have streamed `Response`s.
template <typename Response>
using RefusedStream = RefusedCall<grpc::ServerWriteReactor<Response>>;

/// One that would have taken `Request`s, too.
template <typename Request, typename Response>
using RefusedExchange = RefusedCall<grpc::ServerBidiReactor<Request, Response>>;

}  // namespace millrace::service
