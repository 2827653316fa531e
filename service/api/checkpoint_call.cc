#include "service/api/checkpoint_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "millrace/v1/checkpoint_service.pb.h"
#include "service/registry/checkpoints_of_stream.h"
#include "service/rpc/caught.h"
#include "service/rpc/parse.h"
#include "service/rpc/status.h"
#include "service/wire/wire_checkpoint.h"

namespace millrace::service {

absl::StatusOr<grpc::ServerUnaryReactor*> CheckpointCall::Begin(SharedStream stream,
                                                                grpc::ByteBuffer& response) {
  MILLRACE_RETURN_IF_ERROR(CheckpointFolder(stream->config()).status());
  auto* const call = new CheckpointCall(std::move(stream), response);
  call->stream_->stream->WriteCheckpoint(
      call->stop_.get_token(), [call](const absl::StatusOr<std::string>& name) {
        call->Finish(ToGrpcStatus(Caught([&] { return call->Answer(name); })));
      });
  return call;
}

CheckpointCall::CheckpointCall(SharedStream stream, grpc::ByteBuffer& response)
    : stream_(std::move(stream)), response_(response) {}

absl::Status CheckpointCall::Answer(const absl::StatusOr<std::string>& name) {
  MILLRACE_RETURN_IF_ERROR(name.status());
  const StreamConfig config = stream_->config();
  MILLRACE_ASSIGN_OR_RETURN(const std::string folder, CheckpointFolder(config));
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::CheckpointInfo info,
                            pipeline::InfoOf(absl::StrCat(folder, "/", *name)));
  v1::CreateCheckpointResponse response;
  ToMessage(config.name, info, *response.mutable_checkpoint());
  return Serialize(response, response_);
}

}  // namespace millrace::service
