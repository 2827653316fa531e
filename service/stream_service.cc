#include "service/stream_service.h"

#include "service/status.h"
#include "service/wire.h"

namespace millrace::service {

grpc::ServerUnaryReactor* StreamService::ListStreams(grpc::CallbackServerContext* context,
                                                     const v1::ListStreamsRequest* /*request*/,
                                                     v1::ListStreamsResponse* response) {
  for (const std::unique_ptr<CameraStream>& stream : streams_.all()) {
    ToMessage(*stream, *response->add_streams());
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* StreamService::GetStream(grpc::CallbackServerContext* context,
                                                   const v1::GetStreamRequest* request,
                                                   v1::GetStreamResponse* response) {
  const absl::StatusOr<CameraStream*> stream = streams_.Find(request->stream());
  if (stream.ok()) ToMessage(**stream, *response->mutable_stream());
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(stream.status()));
  return reactor;
}

}  // namespace millrace::service
