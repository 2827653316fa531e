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
#include "service/subscription.h"
#include "service/wire.h"
#include "service/wire_carried.h"
#include "service/wire_picture.h"

namespace millrace::service {
namespace {

absl::StatusOr<v1::GetLatestResponse> Latest(const Streams& streams,
                                             const v1::GetLatestRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  const std::shared_ptr<const Prediction> newest = served->stream->ring().Newest();
  if (newest == nullptr) {
    const std::string& name = served->stream->config().name;
    return Because("NO_PREDICTION_YET", {{"stream", name}},
                   absl::UnavailableError(
                       absl::StrCat("stream '", name, "' has no prediction yet; try again")));
  }
  v1::GetLatestResponse response;
  ToMessage(*newest, CarriedOf(request), *response.mutable_prediction());
  return response;
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

Guard::Many* PredictionService::Subscribe(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request) {
  return guard_.Begun<v1::SubscribeRequest, Guard::Many>(
      *context, "Subscribe", *request, [&](const auto& asked) -> absl::StatusOr<Guard::Many*> {
        MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(asked.stream()));
        MILLRACE_ASSIGN_OR_RETURN(const PredictionReader::Options options,
                                  PredictionReader::OptionsOf(asked, *served));
        return Subscription::Begin(
            std::make_shared<Subscription>(feeds_.Of(served), options, subscribers_), *context);
      });
}

grpc::ServerUnaryReactor* PredictionService::GetLatest(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return guard_.Answered<v1::GetLatestRequest>(
      {context, request, response}, "GetLatest",
      [this](const auto& asked) { return Latest(streams_, asked); });
}

grpc::ServerUnaryReactor* PredictionService::Predict(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return guard_.Threaded<v1::PredictRequest>(
      {context, request, response}, "Predict", questions_,
      [this, came = MonotonicClock().Now()](const auto& asked, const std::stop_token& stop) {
        return Answer(streams_, asked, came, stop);
      },
      kMostBytesOfParts);
}

}  // namespace millrace::service
