// `inference.GRPCInferenceService`: the Open Inference Protocol, for existing clients of that
// protocol.
#pragma once

#include <chrono>
#include <stop_token>

#include "absl/status/statusor.h"
#include "inference/open_inference_grpc.grpc.pb.h"
#include "service/health/health_statuses.h"
#include "service/health/liveness.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"
#include "service/rpc/streaming_calls.h"
#include "service/subscriptions/subscription_hub.h"

namespace millrace::service {

using InferenceMethods =
    RawMethods<inference::GRPCInferenceService::Service,
               inference::GRPCInferenceService::WithRawCallbackMethod_ServerLive,
               inference::GRPCInferenceService::WithRawCallbackMethod_ServerReady,
               inference::GRPCInferenceService::WithRawCallbackMethod_ModelReady,
               inference::GRPCInferenceService::WithRawCallbackMethod_ServerMetadata,
               inference::GRPCInferenceService::WithRawCallbackMethod_ModelMetadata,
               inference::GRPCInferenceService::WithRawCallbackMethod_ModelInfer,
               inference::GRPCInferenceService::WithRawCallbackMethod_ModelStreamInfer>;

/// Translates requests: ModelInfer is PredictionService's Predict, ModelStreamInfer is its
/// Subscribe, and a model is a camera stream (wire_inference.h). Responses of ModelStreamInfer()
/// contain bytes that subscribers share.
///
/// Thread-safe. Its arguments must outlive it, and its server must be shut down before its
/// destruction.
class InferenceService final : public InferenceMethods {
 public:
  struct Parts {
    const StreamRegistry& streams;
    StreamingCalls& calls;
    /// The threads on which ModelInfer parses and computes.
    CallThread& questions;
    const HealthStatuses& statuses;
    Liveness& liveness;
    const Admission& admission;
  };

  explicit InferenceService(const Parts& parts);
  ~InferenceService() override;

  grpc::ServerUnaryReactor* ServerLive(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ServerReady(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ModelReady(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ServerMetadata(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ModelMetadata(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  Guard::BidiReactor* ModelStreamInfer(grpc::CallbackServerContext* context) override;

 private:
  [[nodiscard]] bool IsReady(const inference::ModelReadyRequest& request) const;
  [[nodiscard]] absl::StatusOr<inference::ModelMetadataResponse> Describe(
      const inference::ModelMetadataRequest& request) const;
  [[nodiscard]] absl::StatusOr<inference::ModelInferResponse> Infer(
      const inference::ModelInferRequest& request, std::chrono::nanoseconds came,
      const std::stop_token& stop) const;

  // Constant after construction.
  const Parts parts_;
  const Guard guard_;

  // Self-synchronized.
  SubscriptionHubs hubs_;
};

}  // namespace millrace::service
