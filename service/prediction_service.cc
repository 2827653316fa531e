#include "service/prediction_service.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "service/client_sample.h"
#include "service/error_reason.h"
#include "service/refusal.h"
#include "service/status.h"
#include "service/subscription.h"
#include "service/threaded_call.h"
#include "service/wire.h"
#include "service/wire_carried.h"
#include "service/wire_picture.h"

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

absl::Status Answer(const Streams& streams, const v1::PredictRequest& request,
                    std::chrono::nanoseconds came, v1::Prediction& message) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  std::vector<ingest::PictureContent> pictures;
  for (const v1::Picture& picture : request.pictures()) {
    const absl::StatusOr<ingest::PictureContent> content = ContentOf(picture);
    if (!content.ok()) return OfPicture(pictures.size(), content.status());
    pictures.push_back(*content);
  }
  MILLRACE_ASSIGN_OR_RETURN(const Prediction prediction,
                            PredictSample(*served->stream, pictures, came));
  ToMessage(prediction, CarriedOf(request), message);
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
          MILLRACE_ASSIGN_OR_RETURN(const PredictionReader::Options options,
                                    PredictionReader::OptionsOf(asked, *served));
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

grpc::ServerUnaryReactor* PredictionService::Predict(grpc::CallbackServerContext* context,
                                                     const v1::PredictRequest* request,
                                                     v1::PredictResponse* response) {
  const std::chrono::nanoseconds came = MonotonicClock().Now();
  return guard_.One(*context, "Predict", [&]() -> grpc::ServerUnaryReactor* {
    if (const absl::Status fits = CheckMemory(*request); !fits.ok()) return EndCall(*context, fits);
    return ThreadedCall::Begin(questions_, [=, this](const std::stop_token& /*stop*/) {
      return Answer(streams_, *request, came, *response->mutable_prediction());
    });
  });
}

}  // namespace millrace::service
