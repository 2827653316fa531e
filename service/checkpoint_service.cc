#include "service/checkpoint_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/checkpoint_call.h"
#include "service/checkpoint_download.h"
#include "service/checkpoints_of_stream.h"
#include "service/config_labels.h"
#include "service/error_reason.h"
#include "service/refusal.h"
#include "service/threaded_call.h"
#include "service/wire_checkpoint.h"

namespace millrace::service {
namespace {

/// The stream and the checkpoint must be named where something is changed.
template <typename Request>
absl::Status Named(const Request& request) {
  if (request.stream().empty()) return InvalidFields({{"stream", "is empty; name the stream"}});
  if (request.name().empty()) return InvalidFields({{"name", "is empty; name the checkpoint"}});
  return absl::OkStatus();
}

absl::StatusOr<std::string> PathOf(const Streams& streams, const std::string& stream,
                                   const std::string& name) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(stream));
  const StreamConfig config = served->config();
  MILLRACE_RETURN_IF_ERROR(FindCheckpoint(config, name).status());
  return absl::StrCat(FolderOf(config), "/", name);
}

absl::StatusOr<CheckpointDownload::What> Downloaded(const Streams& streams,
                                                    const v1::DownloadCheckpointRequest& request) {
  MILLRACE_RETURN_IF_ERROR(Named(request));
  MILLRACE_ASSIGN_OR_RETURN(const std::string path,
                            PathOf(streams, request.stream(), request.name()));
  MILLRACE_ASSIGN_OR_RETURN(pipeline::CheckpointManifest manifest, pipeline::ReadManifest(path));
  return CheckpointDownload::What{
      .stream = request.stream(), .path = path, .manifest = std::move(manifest)};
}

}  // namespace

grpc::ServerUnaryReactor* CheckpointService::CreateCheckpoint(
    grpc::CallbackServerContext* context, const v1::CreateCheckpointRequest* request,
    v1::CreateCheckpointResponse* response) {
  return guard_.One(*context, "CreateCheckpoint", [&]() -> grpc::ServerUnaryReactor* {
    const absl::StatusOr<SharedStream> served = streams_.Find(request->stream());
    if (!served.ok()) return EndCall(*context, served.status());
    return CheckpointCall::Begin(*served, *response->mutable_checkpoint());
  });
}

grpc::ServerUnaryReactor* CheckpointService::ListCheckpoints(
    grpc::CallbackServerContext* context, const v1::ListCheckpointsRequest* request,
    v1::ListCheckpointsResponse* response) {
  return guard_.One(*context, "ListCheckpoints", [&]() -> grpc::ServerUnaryReactor* {
    return EndCall(*context, List(request->stream(), *response));
  });
}

absl::Status CheckpointService::List(const std::string& stream,
                                     v1::ListCheckpointsResponse& response) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(stream));
  const StreamConfig config = served->config();
  MILLRACE_ASSIGN_OR_RETURN(const std::string folder, CheckpointFolder(config));
  for (const pipeline::CheckpointInfo& info : pipeline::ListCheckpoints(folder)) {
    ToMessage(config.name, info, *response.add_checkpoints());
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* CheckpointService::RestoreCheckpoint(
    grpc::CallbackServerContext* context, const v1::RestoreCheckpointRequest* request,
    v1::RestoreCheckpointResponse* response) {
  return guard_.One(*context, "RestoreCheckpoint", [&]() -> grpc::ServerUnaryReactor* {
    return ThreadedCall::Begin(control_thread_, [=, this](const std::stop_token& /*stop*/) {
      return Restore(*request, *response->mutable_checkpoint());
    });
  });
}

absl::Status CheckpointService::Restore(const v1::RestoreCheckpointRequest& request,
                                        v1::Checkpoint& checkpoint) {
  MILLRACE_RETURN_IF_ERROR(Named(request));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream restored,
                            control_.Restore({.name = request.stream()}, request.name()));
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::CheckpointInfo info,
                            FindCheckpoint(restored->config(), request.name()));
  ToMessage(request.stream(), info, checkpoint);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* CheckpointService::DeleteCheckpoint(
    grpc::CallbackServerContext* context, const v1::DeleteCheckpointRequest* request,
    v1::DeleteCheckpointResponse* /*response*/) {
  return guard_.One(*context, "DeleteCheckpoint", [&]() -> grpc::ServerUnaryReactor* {
    return ThreadedCall::Begin(
        control_thread_, [=, this](const std::stop_token& /*stop*/) { return Delete(*request); });
  });
}

absl::Status CheckpointService::Delete(const v1::DeleteCheckpointRequest& request) const {
  MILLRACE_RETURN_IF_ERROR(Named(request));
  MILLRACE_ASSIGN_OR_RETURN(const std::string path,
                            PathOf(streams_, request.stream(), request.name()));
  return pipeline::RemoveCheckpoint(path);
}

grpc::ServerWriteReactor<v1::DownloadCheckpointResponse>* CheckpointService::DownloadCheckpoint(
    grpc::CallbackServerContext* context, const v1::DownloadCheckpointRequest* request) {
  using Response = v1::DownloadCheckpointResponse;
  return guard_.Many<Response>(
      *context, "DownloadCheckpoint", [&]() -> grpc::ServerWriteReactor<Response>* {
        const absl::StatusOr<CheckpointDownload::What> what = Downloaded(streams_, *request);
        if (!what.ok()) return new RefusedStream<Response>(what.status());
        return CheckpointDownload::Begin(std::make_shared<CheckpointDownload>(*what, subscribers_),
                                         *context);
      });
}

}  // namespace millrace::service
