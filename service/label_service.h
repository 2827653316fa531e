// `millrace.v1.LabelService`: takes the labels of frames.
#pragma once

#include "millrace/v1/label_service.grpc.pb.h"
#include "service/guard.h"
#include "service/streams.h"

namespace millrace::service {

/// Hands labels to the streams, and nothing else. Thread-safe. `streams` must outlive it.
class LabelService final : public v1::LabelService::CallbackService {
 public:
  LabelService(const Streams& streams, const Admission& admission)
      : guard_(v1::LabelService::service_full_name(), admission), streams_(streams) {}

  grpc::ServerUnaryReactor* AddLabels(grpc::CallbackServerContext* context,
                                      const v1::AddLabelsRequest* request,
                                      v1::AddLabelsResponse* response) override;

 private:
  const Guard guard_;
  const Streams& streams_;
};

}  // namespace millrace::service
