#include "service/api/stream_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/access/peer_address.h"
#include "service/api/stream_watch.h"
#include "service/config/config_entry.h"
#include "service/registry/client_sources.h"
#include "service/rpc/parse.h"
#include "service/wire/wire.h"
#include "service/wire/wire_struct.h"

namespace millrace::service {
namespace {

constexpr char kField[] = "config";

absl::Status Required(const std::string& stream) {
  if (!stream.empty()) return absl::OkStatus();
  return InvalidFields({{"stream", "is empty; name the stream"}});
}

/// "changed source.max_fps, model.seed": keys only, because values may be secret.
std::string WhatChanged(const StreamConfig& before, const StreamConfig& after) {
  const std::vector<std::string> keys = DifferingKeys(before.effective, after.effective);
  if (keys.empty()) return "sent its configuration again, which says what it said";
  return absl::StrCat("changed ", absl::StrJoin(keys, ", "));
}

}  // namespace

StreamService::StreamService(StreamApi api, CallThread& control_thread, StreamingCalls& calls,
                             const Admission& admission)
    : api_(api),
      guard_(v1::StreamService::service_full_name(), admission),
      control_thread_(control_thread),
      calls_(calls) {
  api_.events->Listen([this] { calls_.WakeAll(); });
}

StreamService::~StreamService() { api_.events->Listen(nullptr); }

grpc::ServerUnaryReactor* StreamService::CreateStream(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::CreateStreamRequest>(
      {context, request, response}, "CreateStream", control_thread_,
      [this, client = AddressOf(context->peer())](const auto& asked, const std::stop_token& stop) {
        return Create(asked, client, stop);
      },
      kMaxBytesOfConfig);
}

absl::StatusOr<v1::CreateStreamResponse> StreamService::Create(
    const v1::CreateStreamRequest& request, const std::string& client,
    const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string entry, ToJson(request.config(), kField));
  const auto rules = api_.rules->Now();
  MILLRACE_ASSIGN_OR_RETURN(StreamConfig config, ParseStreamEntry(entry, kField, rules->defaults));
  MILLRACE_RETURN_IF_ERROR(AllowedForClients(config, rules->sources, "{}"));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream created, api_.changes->Create(config, stop));
  LogChange(client, config.name, "added it");
  v1::CreateStreamResponse response;
  ToMessage(*created, *response.mutable_stream());
  return response;
}

grpc::ServerUnaryReactor* StreamService::ListStreams(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return guard_.Unary<v1::ListStreamsRequest>(
      {context, request, response}, "ListStreams",
      [this](const auto& /*asked*/) -> absl::StatusOr<v1::ListStreamsResponse> {
        v1::ListStreamsResponse list;
        for (const SharedStream& served : api_.streams->All()) {
          ToMessage(*served, *list.add_streams());
        }
        return list;
      });
}

grpc::ServerUnaryReactor* StreamService::GetStream(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request,
                                                   grpc::ByteBuffer* response) {
  return guard_.Unary<v1::GetStreamRequest>(
      {context, request, response}, "GetStream",
      [this](const auto& asked) -> absl::StatusOr<v1::GetStreamResponse> {
        MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, api_.streams->Find(asked.stream()));
        v1::GetStreamResponse found;
        ToMessage(*served, *found.mutable_stream());
        return found;
      });
}

grpc::ServerUnaryReactor* StreamService::UpdateStream(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::UpdateStreamRequest>(
      {context, request, response}, "UpdateStream", control_thread_,
      [this, client = AddressOf(context->peer())](const auto& asked, const std::stop_token& stop) {
        return Update(asked, client, stop);
      },
      kMaxBytesOfConfig);
}

absl::StatusOr<v1::UpdateStreamResponse> StreamService::Update(
    const v1::UpdateStreamRequest& request, const std::string& client,
    const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(Required(request.stream()));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, api_.streams->Find(request.stream()));
  const StreamConfig before = served->config();
  const std::string& current = before.entry;
  MILLRACE_ASSIGN_OR_RETURN(const std::string entry, ToJson(request.config(), kField));
  const auto rules = api_.rules->Now();
  MILLRACE_ASSIGN_OR_RETURN(
      StreamConfig config,
      ParseStreamEntry(Completed(entry, request.stream(), current), kField, rules->defaults));
  if (config.name != request.stream()) {
    return InvalidFields({{"config.name", "differs from 'stream'; a stream keeps its name"}});
  }
  MILLRACE_RETURN_IF_ERROR(AllowedForClients(config, rules->sources, current));
  MILLRACE_ASSIGN_OR_RETURN(
      const SharedStream updated,
      api_.changes->Update({.name = request.stream(), .etag = request.etag(), .stop = stop}, config,
                           request.allow_reset()));
  LogChange(client, config.name, WhatChanged(before, config));
  v1::UpdateStreamResponse response;
  ToMessage(*updated, *response.mutable_stream());
  return response;
}

grpc::ServerUnaryReactor* StreamService::DeleteStream(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::DeleteStreamRequest>(
      {context, request, response}, "DeleteStream", control_thread_,
      [this, client = AddressOf(context->peer())](const auto& asked, const std::stop_token& stop) {
        return Delete(asked, client, stop);
      });
}

absl::StatusOr<v1::DeleteStreamResponse> StreamService::Delete(
    const v1::DeleteStreamRequest& request, const std::string& client,
    const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(Required(request.stream()));
  MILLRACE_ASSIGN_OR_RETURN(
      const SharedStream deleted,
      api_.changes->Delete({.name = request.stream(), .etag = request.etag(), .stop = stop}));
  LogChange(client, request.stream(), "deleted it");
  v1::DeleteStreamResponse response;
  ToMessage(*deleted, *response.mutable_stream());
  return response;
}

Guard::ServerStreamReactor* StreamService::WatchStreams(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request) {
  return guard_.ServerStream<v1::WatchStreamsRequest>(
      *context, "WatchStreams", *request,
      [&](const auto& asked) -> absl::StatusOr<Guard::ServerStreamReactor*> {
        MILLRACE_ASSIGN_OR_RETURN(StreamWatch::Place place,
                                  StreamWatch::PlaceIn(*api_.events, asked.stream()));
        return StreamWatch::Begin(
            std::make_shared<StreamWatch>(*api_.events, std::move(place), calls_), *context);
      });
}

}  // namespace millrace::service
