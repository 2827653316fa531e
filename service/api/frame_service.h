// `millrace.v1.FrameService`: takes frames from clients.
#pragma once

#include "millrace/v1/frame_service.grpc.pb.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/guard.h"
#include "service/rpc/streaming_calls.h"

namespace millrace::service {

/// Only begins PushCalls. Thread-safe. `streams` and `calls` must outlive it, and its server
/// must be shut down before its destruction.
class FrameService final
    : public RawMethods<v1::FrameService::Service, v1::FrameService::WithRawCallbackMethod_Push> {
 public:
  FrameService(const StreamRegistry& streams, StreamingCalls& calls, const Admission& admission)
      : guard_(v1::FrameService::service_full_name(), admission),
        streams_(streams),
        calls_(calls) {}

  Guard::BidiReactor* Push(grpc::CallbackServerContext* context) override;

 private:
  // Constant after construction.
  const Guard guard_;
  const StreamRegistry& streams_;

  // Self-synchronized.
  StreamingCalls& calls_;
};

}  // namespace millrace::service
