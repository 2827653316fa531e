// A unary call whose request is parsed by the thread that works on it.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <stop_token>
#include <utility>

#include "base/status.h"
#include "google/protobuf/message.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/parse.h"
#include "service/rpc/threaded_call.h"

namespace millrace::service {

/// INVALID_ARGUMENT if a parsed request takes more memory than allowed.
[[nodiscard]] absl::Status CheckMemory(const google::protobuf::Message& request);

/// Begins an admitted call. The call runs `work(parsed request, stop)`, which returns a
/// StatusOr<Response>. It runs as a ThreadedCall, so that each thread parses at most one request at
/// a time. gRPC owns `request` and `response` for the duration of the call.
template <typename Request, typename Work>
grpc::ServerUnaryReactor* BeginParsedCall(CallThread& thread, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response, Work work) {
  return ThreadedCall::Begin(
      thread, [=, work = std::move(work)](const std::stop_token& stop) -> absl::Status {
        MILLRACE_ASSIGN_OR_RETURN(const Request parsed, Parse<Request>(*request));
        MILLRACE_RETURN_IF_ERROR(CheckMemory(parsed));
        MILLRACE_ASSIGN_OR_RETURN(const auto made, work(parsed, stop));
        return Serialize(made, *response);
      });
}

}  // namespace millrace::service
