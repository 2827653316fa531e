// `millrace.v1.StreamService`: adds, changes, deletes and watches camera streams.
#pragma once

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/access/call_counts.h"
#include "service/health/liveness.h"
#include "service/registry/client_rules.h"
#include "service/registry/stream_changes.h"
#include "service/registry/stream_event_log.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"
#include "service/rpc/streaming_calls.h"

namespace millrace::service {

/// The objects that the API uses. All must outlive the server.
struct StreamApi {
  StreamRegistry* streams = nullptr;
  StreamEventLog* events = nullptr;
  StreamChanges* changes = nullptr;
  /// The source of the process's liveness in health checks.
  Liveness* liveness = nullptr;
  const ClientRules* rules = nullptr;
  /// Counts the calls of all services.
  CallCounts* calls = nullptr;
};

using StreamMethods =
    RawMethods<v1::StreamService::Service, v1::StreamService::WithRawCallbackMethod_CreateStream,
               v1::StreamService::WithRawCallbackMethod_ListStreams,
               v1::StreamService::WithRawCallbackMethod_GetStream,
               v1::StreamService::WithRawCallbackMethod_UpdateStream,
               v1::StreamService::WithRawCallbackMethod_DeleteStream,
               v1::StreamService::WithRawCallbackMethod_WatchStreams>;

/// Only translates requests. Thread-safe. Its arguments must outlive it.
class StreamService final : public StreamMethods {
 public:
  StreamService(StreamApi api, CallThread& control_thread, StreamingCalls& calls,
                const Admission& admission);
  ~StreamService() override;

  grpc::ServerUnaryReactor* CreateStream(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListStreams(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetStream(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UpdateStream(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteStream(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  Guard::ServerStreamReactor* WatchStreams(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request) override;

 private:
  /// `client`: the client's address, also in the functions below.
  [[nodiscard]] absl::StatusOr<v1::CreateStreamResponse> Create(
      const v1::CreateStreamRequest& request, const std::string& client,
      const std::stop_token& stop);
  [[nodiscard]] absl::StatusOr<v1::UpdateStreamResponse> Update(
      const v1::UpdateStreamRequest& request, const std::string& client,
      const std::stop_token& stop);
  [[nodiscard]] absl::StatusOr<v1::DeleteStreamResponse> Delete(
      const v1::DeleteStreamRequest& request, const std::string& client,
      const std::stop_token& stop);

  // Constant after construction.
  const StreamApi api_;
  const Guard guard_;

  // Self-synchronized.
  CallThread& control_thread_;
  StreamingCalls& calls_;
};

}  // namespace millrace::service
