// `millrace.v1.LabelService`: accepts labels of frames.
#pragma once

#include "millrace/v1/label_service.grpc.pb.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/call_thread.h"
#include "service/rpc/guard.h"

namespace millrace::service {

/// Only passes labels to the streams. Thread-safe. Its arguments must outlive it, and its server
/// must be shut down before its destruction.
class LabelService final : public RawMethods<v1::LabelService::Service,
                                             v1::LabelService::WithRawCallbackMethod_AddLabels> {
 public:
  /// `labels`: the threads that parse requests and pass on the labels.
  LabelService(const StreamRegistry& streams, CallThread& labels, const Admission& admission)
      : guard_(v1::LabelService::service_full_name(), admission),
        streams_(streams),
        labels_(labels) {}

  grpc::ServerUnaryReactor* AddLabels(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;

 private:
  // Constant after construction.
  const Guard guard_;
  const StreamRegistry& streams_;

  // Self-synchronized.
  CallThread& labels_;
};

}  // namespace millrace::service
