// A call that waits for a checkpoint.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/registry/served_stream.h"
#include "service/rpc/self_deleting_reactor.h"

namespace millrace::service {

/// Responds when the checkpoint is written or has failed. A cancelled or expired call stops
/// waiting. Uses no thread, and keeps the stream alive.
class CheckpointCall final : public SelfDeletingReactor<grpc::ServerUnaryReactor> {
 public:
  /// The reactor of a call for a checkpoint of `stream`. It writes into `response`, which gRPC
  /// owns. FAILED_PRECONDITION if the stream keeps no checkpoints.
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
