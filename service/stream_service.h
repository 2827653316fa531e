// `millrace.v1.StreamService`: adds, changes and deletes camera streams, and tells what they do.
#pragma once

#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/call_thread.h"
#include "service/client_rules.h"
#include "service/guard.h"
#include "service/liveness.h"
#include "service/stream_control.h"
#include "service/stream_events.h"
#include "service/streams.h"
#include "service/subscribers.h"

namespace millrace::service {

/// What the API may do with streams. All that is pointed to must outlive the server.
struct StreamApi {
  Streams* streams = nullptr;
  StreamEvents* events = nullptr;
  StreamControl* control = nullptr;
  /// What health checks say of the process.
  Liveness* liveness = nullptr;
  const ClientRules* rules = nullptr;
};

/// Translates requests, and nothing else. Thread-safe. What it is given must outlive it.
class StreamService final : public v1::StreamService::CallbackService {
 public:
  StreamService(StreamApi api, CallThread& control_thread, Subscribers& subscribers,
                const Admission& admission);
  ~StreamService() override;

  grpc::ServerUnaryReactor* CreateStream(grpc::CallbackServerContext* context,
                                         const v1::CreateStreamRequest* request,
                                         v1::CreateStreamResponse* response) override;
  grpc::ServerUnaryReactor* ListStreams(grpc::CallbackServerContext* context,
                                        const v1::ListStreamsRequest* request,
                                        v1::ListStreamsResponse* response) override;
  grpc::ServerUnaryReactor* GetStream(grpc::CallbackServerContext* context,
                                      const v1::GetStreamRequest* request,
                                      v1::GetStreamResponse* response) override;
  grpc::ServerUnaryReactor* UpdateStream(grpc::CallbackServerContext* context,
                                         const v1::UpdateStreamRequest* request,
                                         v1::UpdateStreamResponse* response) override;
  grpc::ServerUnaryReactor* DeleteStream(grpc::CallbackServerContext* context,
                                         const v1::DeleteStreamRequest* request,
                                         v1::DeleteStreamResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchStreamsResponse>* WatchStreams(
      grpc::CallbackServerContext* context, const v1::WatchStreamsRequest* request) override;

 private:
  [[nodiscard]] absl::Status Create(const v1::CreateStreamRequest& request, std::stop_token stop,
                                    v1::Stream& stream);
  [[nodiscard]] absl::Status Update(const v1::UpdateStreamRequest& request, std::stop_token stop,
                                    v1::Stream& stream);
  [[nodiscard]] absl::Status Delete(const v1::DeleteStreamRequest& request, v1::Stream& stream);

  // Constant after construction.
  const StreamApi api_;
  const Guard guard_;

  // Self-synchronized.
  CallThread& control_thread_;
  Subscribers& subscribers_;
};

}  // namespace millrace::service
