// `millrace.v1.PredictionService`: serves the predictions of the camera streams.
#pragma once

#include "base/clock.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "service/registry/stream_event_log.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"
#include "service/rpc/streaming_calls.h"
#include "service/subscriptions/subscription_hub.h"
#include "service/wire/wire.h"

namespace millrace::service {

using PredictionMethods = RawMethods<v1::PredictionService::Service,
                                     v1::PredictionService::WithRawCallbackMethod_Subscribe,
                                     v1::PredictionService::WithRawCallbackMethod_GetLatest,
                                     v1::PredictionService::WithRawCallbackMethod_Predict>;

/// Translates requests into reads of the streams' rings. Messages of Subscribe() contain bytes that
/// subscribers share. Thread-safe. Its arguments must outlive it, and its server must be shut down
/// before its destruction.
class PredictionService final : public PredictionMethods {
 public:
  struct Parts {
    const StreamRegistry& streams;
    /// The events that subscribers get as status messages.
    const StreamEventLog& events;
    StreamingCalls& calls;
    /// The threads on which Predict() parses and computes.
    CallThread& questions;
    const Admission& admission;
    /// Measures the silence of a subscription.
    const Clock& clock = MonotonicClock();
  };

  explicit PredictionService(const Parts& parts)
      : guard_(v1::PredictionService::service_full_name(), parts.admission),
        parts_(parts),
        hubs_(parts.calls, PredictionBytes) {}

  Guard::ServerStreamReactor* Subscribe(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request) override;

  grpc::ServerUnaryReactor* GetLatest(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

 private:
  // Constant after construction.
  const Guard guard_;
  const Parts parts_;

  // Self-synchronized.
  SubscriptionHubs hubs_;
};

}  // namespace millrace::service
