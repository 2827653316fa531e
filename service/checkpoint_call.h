// A call that waits for a checkpoint.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "millrace/v1/checkpoint_service.pb.h"
#include "service/own_reactor.h"
#include "service/served_stream.h"

namespace millrace::service {

/// Answers when the checkpoint is written, or will not be. A client that cancels, or whose deadline
/// passes, waits no longer. Takes no thread, and keeps the stream.
class CheckpointCall final : public OwnReactor<grpc::ServerUnaryReactor> {
 public:
  /// The reactor of a call for a checkpoint of `stream`, which it writes into `checkpoint`.
  static grpc::ServerUnaryReactor* Begin(SharedStream stream, v1::Checkpoint& checkpoint);

  void OnCancel() override { stop_.request_stop(); }

 private:
  CheckpointCall(SharedStream stream, v1::Checkpoint& checkpoint);

  [[nodiscard]] absl::Status Answer(const absl::StatusOr<std::string>& name);

  const SharedStream stream_;
  v1::Checkpoint& checkpoint_;
  std::stop_source stop_;
};

}  // namespace millrace::service
