// `millrace.v1.CheckpointService`: takes, lists, restores and downloads checkpoints of learners.
#pragma once

#include "absl/status/statusor.h"
#include "millrace/v1/checkpoint_service.grpc.pb.h"
#include "service/registry/stream_changes.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"
#include "service/rpc/streaming_calls.h"

namespace millrace::service {

using CheckpointMethods =
    RawMethods<v1::CheckpointService::Service,
               v1::CheckpointService::WithRawCallbackMethod_CreateCheckpoint,
               v1::CheckpointService::WithRawCallbackMethod_ListCheckpoints,
               v1::CheckpointService::WithRawCallbackMethod_RestoreCheckpoint,
               v1::CheckpointService::WithRawCallbackMethod_DeleteCheckpoint,
               v1::CheckpointService::WithRawCallbackMethod_DownloadCheckpoint>;

/// Only translates requests. Thread-safe. Its arguments must outlive it.
class CheckpointService final : public CheckpointMethods {
 public:
  CheckpointService(const StreamRegistry& streams, StreamChanges& changes,
                    CallThread& control_thread, StreamingCalls& calls, const Admission& admission)
      : guard_(v1::CheckpointService::service_full_name(), admission),
        streams_(streams),
        changes_(changes),
        control_thread_(control_thread),
        calls_(calls) {}

  grpc::ServerUnaryReactor* CreateCheckpoint(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListCheckpoints(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RestoreCheckpoint(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteCheckpoint(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  Guard::ServerStreamReactor* DownloadCheckpoint(grpc::CallbackServerContext* context,
                                                 const grpc::ByteBuffer* request) override;

 private:
  [[nodiscard]] absl::StatusOr<v1::ListCheckpointsResponse> List(
      const v1::ListCheckpointsRequest& request) const;
  [[nodiscard]] absl::StatusOr<v1::RestoreCheckpointResponse> Restore(
      const v1::RestoreCheckpointRequest& request, const std::stop_token& stop);
  /// Runs while no change of the stream does, so that a restore cannot lose its checkpoint.
  [[nodiscard]] absl::StatusOr<v1::DeleteCheckpointResponse> Delete(
      const v1::DeleteCheckpointRequest& request, const std::stop_token& stop);

  // Constant after construction.
  const Guard guard_;
  const StreamRegistry& streams_;
  StreamChanges& changes_;

  // Self-synchronized.
  CallThread& control_thread_;
  StreamingCalls& calls_;
};

}  // namespace millrace::service
