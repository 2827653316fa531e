// A call that waits for a checkpoint.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/registry/served_stream.h"
#include "service/rpc/own_reactor.h"

namespace millrace::service {

/// Answers when the checkpoint is written, or will not be. A client that cancels, or whose deadline
/// passes, waits no longer. Takes no thread, and keeps the stream.
class CheckpointCall final : public OwnReactor<grpc::ServerUnaryReactor> {
 public:
  /// The reactor of a call for a checkpoint of `stream`, which it writes into `response`, gRPC's
  /// own. FAILED_PRECONDITION if the stream keeps none.
  static absl::StatusOr<grpc::ServerUnaryReactor*> Begin(SharedStream stream,
                                                         grpc::ByteBuffer& response);

  void OnCancel() override { stop_.request_stop(); }

 private:
  CheckpointCall(SharedStream stream, grpc::ByteBuffer& response);

  [[nodiscard]] absl::Status Answer(const absl::StatusOr<std::string>& name);

  const SharedStream stream_;
  grpc::ByteBuffer& response_;
  std::stop_source stop_;
};

}  // namespace millrace::service
