#include "service/api/checkpoint_service.h"

#include <memory>
#include <stop_token>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/api/checkpoint_call.h"
#include "service/api/checkpoint_download.h"
#include "service/registry/checkpoints_of_stream.h"
#include "service/wire/wire_checkpoint.h"

namespace millrace::service {
namespace {

/// A request that changes something must name the stream and the checkpoint.
template <typename Request>
absl::Status Named(const Request& request) {
  if (request.stream().empty()) return InvalidFields({{"stream", "is empty; name the stream"}});
  if (request.name().empty()) return InvalidFields({{"name", "is empty; name the checkpoint"}});
  return absl::OkStatus();
}

absl::StatusOr<std::string> PathOf(const StreamRegistry& streams, const std::string& stream,
                                   const std::string& name) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(stream));
  const StreamConfig config = served->config();
  MILLRACE_RETURN_IF_ERROR(FindCheckpoint(config, name).status());
  return absl::StrCat(config.learner.checkpoints.folder, "/", name);
}

absl::StatusOr<CheckpointDownload::What> Downloaded(const StreamRegistry& streams,
                                                    const v1::DownloadCheckpointRequest& request) {
  MILLRACE_RETURN_IF_ERROR(Named(request));
  MILLRACE_ASSIGN_OR_RETURN(const std::string path,
                            PathOf(streams, request.stream(), request.name()));
  MILLRACE_ASSIGN_OR_RETURN(pipeline::CheckpointManifest manifest, pipeline::ReadManifest(path));
  return CheckpointDownload::What{
      .stream = request.stream(), .path = path, .manifest = std::move(manifest)};
}

}  // namespace

grpc::ServerUnaryReactor* CheckpointService::CreateCheckpoint(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  return guard_.UnaryLater<v1::CreateCheckpointRequest>(
      {context, request, response}, "CreateCheckpoint",
      [&](const auto& asked) -> absl::StatusOr<Guard::UnaryReactor*> {
        MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(asked.stream()));
        return CheckpointCall::Begin(served, *response);
      });
}

grpc::ServerUnaryReactor* CheckpointService::ListCheckpoints(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request,
                                                             grpc::ByteBuffer* response) {
  return guard_.Unary<v1::ListCheckpointsRequest>(
      {context, request, response}, "ListCheckpoints",
      [this](const auto& asked) { return List(asked); });
}

absl::StatusOr<v1::ListCheckpointsResponse> CheckpointService::List(
    const v1::ListCheckpointsRequest& request) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(request.stream()));
  const StreamConfig config = served->config();
  MILLRACE_ASSIGN_OR_RETURN(const std::string folder, CheckpointFolder(config));
  v1::ListCheckpointsResponse response;
  for (const pipeline::CheckpointInfo& info : pipeline::ListCheckpoints(folder)) {
    ToMessage(config.name, info, *response.add_checkpoints());
  }
  return response;
}

grpc::ServerUnaryReactor* CheckpointService::RestoreCheckpoint(grpc::CallbackServerContext* context,
                                                               const grpc::ByteBuffer* request,
                                                               grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::RestoreCheckpointRequest>(
      {context, request, response}, "RestoreCheckpoint", control_thread_,
      [this](const auto& asked, const std::stop_token& stop) { return Restore(asked, stop); });
}

absl::StatusOr<v1::RestoreCheckpointResponse> CheckpointService::Restore(
    const v1::RestoreCheckpointRequest& request, const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(Named(request));
  MILLRACE_ASSIGN_OR_RETURN(
      const pipeline::CheckpointInfo restored,
      changes_.Restore({.name = request.stream(), .stop = stop}, request.name()));
  v1::RestoreCheckpointResponse response;
  ToMessage(request.stream(), restored, *response.mutable_checkpoint());
  return response;
}

grpc::ServerUnaryReactor* CheckpointService::DeleteCheckpoint(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::DeleteCheckpointRequest>(
      {context, request, response}, "DeleteCheckpoint", control_thread_,
      [this](const auto& asked, const std::stop_token& stop) { return Delete(asked, stop); });
}

absl::StatusOr<v1::DeleteCheckpointResponse> CheckpointService::Delete(
    const v1::DeleteCheckpointRequest& request, const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(Named(request));
  const auto remove = [&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(const std::string path,
                              PathOf(streams_, request.stream(), request.name()));
    return pipeline::RemoveCheckpoint(path);
  };
  MILLRACE_RETURN_IF_ERROR(changes_.WithoutChange(request.stream(), stop, remove));
  return v1::DeleteCheckpointResponse();
}

Guard::ServerStreamReactor* CheckpointService::DownloadCheckpoint(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return guard_.ServerStream<v1::DownloadCheckpointRequest>(
      *context, "DownloadCheckpoint", *request,
      [&](const auto& asked) -> absl::StatusOr<Guard::ServerStreamReactor*> {
        MILLRACE_ASSIGN_OR_RETURN(const CheckpointDownload::What what, Downloaded(streams_, asked));
        return CheckpointDownload::Begin(std::make_shared<CheckpointDownload>(what, calls_),
                                         *context);
      });
}

}  // namespace millrace::service
