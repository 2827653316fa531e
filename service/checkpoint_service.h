// `millrace.v1.CheckpointService`: takes, lists and goes back to what learners have learned.
#pragma once

#include "millrace/v1/checkpoint_service.grpc.pb.h"
#include "service/call_thread.h"
#include "service/guard.h"
#include "service/stream_control.h"
#include "service/streams.h"
#include "service/subscribers.h"

namespace millrace::service {

/// Translates requests, and nothing else. Thread-safe. What it is given must outlive it.
class CheckpointService final : public v1::CheckpointService::CallbackService {
 public:
  CheckpointService(const Streams& streams, StreamControl& control, CallThread& control_thread,
                    Subscribers& subscribers, const Admission& admission)
      : guard_(v1::CheckpointService::service_full_name(), admission),
        streams_(streams),
        control_(control),
        control_thread_(control_thread),
        subscribers_(subscribers) {}

  grpc::ServerUnaryReactor* CreateCheckpoint(grpc::CallbackServerContext* context,
                                             const v1::CreateCheckpointRequest* request,
                                             v1::CreateCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* ListCheckpoints(grpc::CallbackServerContext* context,
                                            const v1::ListCheckpointsRequest* request,
                                            v1::ListCheckpointsResponse* response) override;
  grpc::ServerUnaryReactor* RestoreCheckpoint(grpc::CallbackServerContext* context,
                                              const v1::RestoreCheckpointRequest* request,
                                              v1::RestoreCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* DeleteCheckpoint(grpc::CallbackServerContext* context,
                                             const v1::DeleteCheckpointRequest* request,
                                             v1::DeleteCheckpointResponse* response) override;
  grpc::ServerWriteReactor<v1::DownloadCheckpointResponse>* DownloadCheckpoint(
      grpc::CallbackServerContext* context, const v1::DownloadCheckpointRequest* request) override;

 private:
  [[nodiscard]] absl::Status List(const std::string& stream,
                                  v1::ListCheckpointsResponse& response) const;
  [[nodiscard]] absl::Status Restore(const v1::RestoreCheckpointRequest& request,
                                     v1::Checkpoint& checkpoint);
  /// On the control thread, so that nothing is removed while it is gone back to.
  [[nodiscard]] absl::Status Delete(const v1::DeleteCheckpointRequest& request) const;

  // Constant after construction.
  const Guard guard_;
  const Streams& streams_;
  StreamControl& control_;

  // Self-synchronized.
  CallThread& control_thread_;
  Subscribers& subscribers_;
};

}  // namespace millrace::service
