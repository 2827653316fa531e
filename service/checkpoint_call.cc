#include "service/checkpoint_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/checkpoints_of_stream.h"
#include "service/status.h"
#include "service/wire_checkpoint.h"

namespace millrace::service {

grpc::ServerUnaryReactor* CheckpointCall::Begin(SharedStream stream, v1::Checkpoint& checkpoint) {
  auto* const call = new CheckpointCall(std::move(stream), checkpoint);
  const absl::Status keeps = CheckpointFolder(call->stream_->config()).status();
  if (!keeps.ok()) {
    call->Finish(ToGrpcStatus(keeps));
    return call;
  }
  call->stream_->stream->WriteCheckpoint(call->stop_.get_token(),
                                         [call](const absl::StatusOr<std::string>& name) {
                                           call->Finish(ToGrpcStatus(call->Answer(name)));
                                         });
  return call;
}

CheckpointCall::CheckpointCall(SharedStream stream, v1::Checkpoint& checkpoint)
    : stream_(std::move(stream)), checkpoint_(checkpoint) {}

absl::Status CheckpointCall::Answer(const absl::StatusOr<std::string>& name) {
  MILLRACE_RETURN_IF_ERROR(name.status());
  const StreamConfig config = stream_->config();
  MILLRACE_ASSIGN_OR_RETURN(const std::string folder, CheckpointFolder(config));
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::CheckpointInfo info,
                            pipeline::InfoOf(absl::StrCat(folder, "/", *name)));
  ToMessage(config.name, info, checkpoint_);
  return absl::OkStatus();
}

}  // namespace millrace::service
