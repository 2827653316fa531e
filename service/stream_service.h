// `millrace.v1.StreamService`: tells what the camera streams are doing.
#pragma once

#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/streams.h"

namespace millrace::service {

/// Translates requests into snapshots of streams, and nothing else. Thread-safe. `streams` must
/// outlive it.
class StreamService final : public v1::StreamService::CallbackService {
 public:
  explicit StreamService(const Streams& streams) : streams_(streams) {}

  grpc::ServerUnaryReactor* ListStreams(grpc::CallbackServerContext* context,
                                        const v1::ListStreamsRequest* request,
                                        v1::ListStreamsResponse* response) override;

  grpc::ServerUnaryReactor* GetStream(grpc::CallbackServerContext* context,
                                      const v1::GetStreamRequest* request,
                                      v1::GetStreamResponse* response) override;

 private:
  const Streams& streams_;
};

}  // namespace millrace::service
