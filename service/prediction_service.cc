#include "service/prediction_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/error_reason.h"
#include "service/refusal.h"
#include "service/status.h"
#include "service/subscription.h"
#include "service/wire.h"
#include "service/wire_carried.h"

namespace millrace::service {
namespace {

absl::Status Latest(const Streams& streams, const v1::GetLatestRequest& request,
                    v1::Prediction& message) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  const std::shared_ptr<const Prediction> newest = served->stream->ring().Newest();
  if (newest == nullptr) {
    const std::string& name = served->stream->config().name;
    return Because("NO_PREDICTION_YET", {{"stream", name}},
                   absl::UnavailableError(
                       absl::StrCat("stream '", name, "' has no prediction yet; try again")));
  }
  ToMessage(*newest, CarriedOf(request), message);
  return absl::OkStatus();
}

absl::StatusOr<v1::SubscribeRequest> Parse(const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer read = bytes;  // Reading empties a buffer.
  v1::SubscribeRequest request;
  if (grpc::SerializationTraits<v1::SubscribeRequest>::Deserialize(&read, &request).ok()) {
    return request;
  }
  return absl::InvalidArgumentError("this is no SubscribeRequest");
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* PredictionService::Subscribe(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return guard_.Many<grpc::ByteBuffer>(
      *context, "Subscribe", [&]() -> grpc::ServerWriteReactor<grpc::ByteBuffer>* {
        const auto make = [&]() -> absl::StatusOr<std::shared_ptr<Subscription>> {
          MILLRACE_ASSIGN_OR_RETURN(const v1::SubscribeRequest asked, Parse(*request));
          MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(asked.stream()));
          MILLRACE_ASSIGN_OR_RETURN(const Subscription::Options options,
                                    Subscription::OptionsOf(asked, *served));
          return std::make_shared<Subscription>(feeds_.Of(served), options, subscribers_);
        };
        absl::StatusOr<std::shared_ptr<Subscription>> made = make();
        if (!made.ok()) return new RefusedStream<grpc::ByteBuffer>(made.status());
        return Subscription::Begin(*std::move(made), *context);
      });
}

grpc::ServerUnaryReactor* PredictionService::GetLatest(grpc::CallbackServerContext* context,
                                                       const v1::GetLatestRequest* request,
                                                       v1::GetLatestResponse* response) {
  return guard_.One(*context, "GetLatest", [&]() -> grpc::ServerUnaryReactor* {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(Latest(streams_, *request, *response->mutable_prediction())));
    return reactor;
  });
}

}  // namespace millrace::service
