#include "service/stream_service.h"

#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "service/client_sources.h"
#include "service/config_entry.h"
#include "service/error_reason.h"
#include "service/refusal.h"
#include "service/status.h"
#include "service/stream_watch.h"
#include "service/threaded_call.h"
#include "service/wire.h"
#include "service/wire_struct.h"

namespace millrace::service {
namespace {

constexpr char kField[] = "config";

absl::Status Required(const std::string& stream) {
  if (!stream.empty()) return absl::OkStatus();
  return InvalidFields({{"stream", "is empty; name the stream"}});
}

}  // namespace

StreamService::StreamService(StreamApi api, CallThread& control_thread, Subscribers& subscribers,
                             const Admission& admission)
    : api_(std::move(api)),
      guard_(v1::StreamService::service_full_name(), admission),
      control_thread_(control_thread),
      subscribers_(subscribers) {
  api_.events->Listen([this] { subscribers_.Wake(); });
}

StreamService::~StreamService() { api_.events->Listen(nullptr); }

grpc::ServerUnaryReactor* StreamService::CreateStream(grpc::CallbackServerContext* context,
                                                      const v1::CreateStreamRequest* request,
                                                      v1::CreateStreamResponse* response) {
  return guard_.One(*context, "CreateStream", [&]() -> grpc::ServerUnaryReactor* {
    return ThreadedCall::Begin(control_thread_, [=, this](const std::stop_token& stop) {
      return Create(*request, stop, *response->mutable_stream());
    });
  });
}

absl::Status StreamService::Create(const v1::CreateStreamRequest& request, std::stop_token stop,
                                   v1::Stream& stream) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string entry, ToJson(request.config(), kField));
  const auto rules = api_.rules->Now();
  MILLRACE_ASSIGN_OR_RETURN(StreamConfig config, ParseStreamEntry(entry, kField, rules->defaults));
  MILLRACE_RETURN_IF_ERROR(AllowedForClients(config, rules->sources, "{}"));
  config.learner.stop = config.source.stop = std::move(stop);
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream created, api_.control->Create(config));
  ToMessage(*created, stream);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* StreamService::ListStreams(grpc::CallbackServerContext* context,
                                                     const v1::ListStreamsRequest* /*request*/,
                                                     v1::ListStreamsResponse* response) {
  return guard_.One(*context, "ListStreams", [&]() -> grpc::ServerUnaryReactor* {
    for (const SharedStream& served : api_.streams->All()) {
      ToMessage(*served, *response->add_streams());
    }
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  });
}

grpc::ServerUnaryReactor* StreamService::GetStream(grpc::CallbackServerContext* context,
                                                   const v1::GetStreamRequest* request,
                                                   v1::GetStreamResponse* response) {
  return guard_.One(*context, "GetStream", [&]() -> grpc::ServerUnaryReactor* {
    const absl::StatusOr<SharedStream> served = api_.streams->Find(request->stream());
    if (served.ok()) ToMessage(**served, *response->mutable_stream());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(served.status()));
    return reactor;
  });
}

grpc::ServerUnaryReactor* StreamService::UpdateStream(grpc::CallbackServerContext* context,
                                                      const v1::UpdateStreamRequest* request,
                                                      v1::UpdateStreamResponse* response) {
  return guard_.One(*context, "UpdateStream", [&]() -> grpc::ServerUnaryReactor* {
    return ThreadedCall::Begin(control_thread_, [=, this](const std::stop_token& stop) {
      return Update(*request, stop, *response->mutable_stream());
    });
  });
}

absl::Status StreamService::Update(const v1::UpdateStreamRequest& request, std::stop_token stop,
                                   v1::Stream& stream) {
  MILLRACE_RETURN_IF_ERROR(Required(request.stream()));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, api_.streams->Find(request.stream()));
  const std::string current = served->config().entry;
  MILLRACE_ASSIGN_OR_RETURN(const std::string entry, ToJson(request.config(), kField));
  const auto rules = api_.rules->Now();
  MILLRACE_ASSIGN_OR_RETURN(
      StreamConfig config,
      ParseStreamEntry(Completed(entry, request.stream(), current), kField, rules->defaults));
  if (config.name != request.stream()) {
    return InvalidFields({{"config.name", "differs from 'stream'; a stream keeps its name"}});
  }
  MILLRACE_RETURN_IF_ERROR(AllowedForClients(config, rules->sources, current));
  config.learner.stop = config.source.stop = std::move(stop);
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream updated,
                            api_.control->Update({.name = request.stream(), .etag = request.etag()},
                                                 config, request.allow_reset()));
  ToMessage(*updated, stream);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* StreamService::DeleteStream(grpc::CallbackServerContext* context,
                                                      const v1::DeleteStreamRequest* request,
                                                      v1::DeleteStreamResponse* response) {
  return guard_.One(*context, "DeleteStream", [&]() -> grpc::ServerUnaryReactor* {
    return ThreadedCall::Begin(control_thread_, [=, this](const std::stop_token& /*stop*/) {
      return Delete(*request, *response->mutable_stream());
    });
  });
}

absl::Status StreamService::Delete(const v1::DeleteStreamRequest& request, v1::Stream& stream) {
  MILLRACE_RETURN_IF_ERROR(Required(request.stream()));
  MILLRACE_ASSIGN_OR_RETURN(
      const SharedStream deleted,
      api_.control->Delete({.name = request.stream(), .etag = request.etag()}));
  ToMessage(*deleted, stream);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::WatchStreamsResponse>* StreamService::WatchStreams(
    grpc::CallbackServerContext* context, const v1::WatchStreamsRequest* request) {
  return guard_.Many<v1::WatchStreamsResponse>(
      *context, "WatchStreams", [&]() -> grpc::ServerWriteReactor<v1::WatchStreamsResponse>* {
        absl::StatusOr<StreamWatch::Place> place =
            StreamWatch::PlaceIn(*api_.events, request->stream());
        if (!place.ok()) return new RefusedStream<v1::WatchStreamsResponse>(place.status());
        return StreamWatch::Begin(
            std::make_shared<StreamWatch>(*api_.events, *std::move(place), subscribers_), *context);
      });
}

}  // namespace millrace::service
