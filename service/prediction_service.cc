#include "service/prediction_service.h"

#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "service/client_sample.h"
#include "service/error_reason.h"
#include "service/parse.h"
#include "service/parsed_call.h"
#include "service/refusal.h"
#include "service/status.h"
#include "service/subscription.h"
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

absl::StatusOr<v1::PredictResponse> Answer(const Streams& streams,
                                           const v1::PredictRequest& request,
                                           std::chrono::nanoseconds came,
                                           const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  std::vector<ingest::PictureContent> pictures;
  for (const v1::Picture& picture : request.pictures()) {
    const absl::StatusOr<ingest::PictureContent> content = ContentOf(picture);
    if (!content.ok()) return OfPicture(pictures.size(), content.status());
    pictures.push_back(*content);
  }
  MILLRACE_ASSIGN_OR_RETURN(const Prediction prediction,
                            PredictSample(*served->stream, pictures, came, stop));
  v1::PredictResponse response;
  ToMessage(prediction, CarriedOf(request), *response.mutable_prediction());
  return response;
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* PredictionService::Subscribe(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return guard_.Many<grpc::ByteBuffer>(
      *context, "Subscribe", [&]() -> grpc::ServerWriteReactor<grpc::ByteBuffer>* {
        const auto make = [&]() -> absl::StatusOr<std::shared_ptr<Subscription>> {
          MILLRACE_ASSIGN_OR_RETURN(const v1::SubscribeRequest asked,
                                    Parse<v1::SubscribeRequest>(*request, kMostBytesOfNames));
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
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  const std::chrono::nanoseconds came = MonotonicClock().Now();
  return guard_.One(*context, "Predict", [&] {
    return BeginParsedCall<v1::PredictRequest>(
        questions_, request, response,
        [=, this](const v1::PredictRequest& parsed, const std::stop_token& stop) {
          return Answer(streams_, parsed, came, stop);
        });
  });
}

}  // namespace millrace::service
