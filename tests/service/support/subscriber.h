// A client that subscribes to predictions.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "millrace/v1/prediction_service.grpc.pb.h"

namespace millrace::service {

/// A subscriber whose subscription stands once it is constructed.
class Subscriber {
 public:
  Subscriber(grpc::Channel& channel, const v1::SubscribeRequest& request)
      : reader_(v1::PredictionService::NewStub(Shared(channel))->Subscribe(&context_, request)) {
    reader_->WaitForInitialMetadata();
  }

  /// The next message, or nullopt at the stream's end.
  std::optional<v1::SubscribeResponse> Next() {
    v1::SubscribeResponse response;
    if (!reader_->Read(&response)) return std::nullopt;
    return response;
  }
  grpc::Status Finish() { return reader_->Finish(); }
  void Cancel() { context_.TryCancel(); }

 private:
  static std::shared_ptr<grpc::Channel> Shared(grpc::Channel& channel) {
    return {std::shared_ptr<grpc::Channel>(), &channel};  // The fixture owns it.
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::SubscribeResponse>> reader_;
};

inline v1::SubscribeRequest To(const std::string& stream,
                               v1::DeliveryPolicy policy = v1::DELIVERY_POLICY_DROP_OLDEST) {
  v1::SubscribeRequest request;
  request.set_stream(stream);
  request.set_policy(policy);
  return request;
}

}  // namespace millrace::service
