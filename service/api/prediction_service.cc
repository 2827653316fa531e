#include "service/api/prediction_service.h"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/api/client_predictions.h"
#include "service/rpc/parse.h"
#include "service/subscriptions/status_notes.h"
#include "service/subscriptions/subscription.h"
#include "service/wire/prediction_parts.h"
#include "service/wire/wire.h"
#include "service/wire/wire_status.h"

namespace millrace::service {
namespace {

absl::Status NoPredictionYet(const v1::StreamStatus& status) {
  const Hindrance hindrance = HindranceOf(status);
  std::string words = absl::StrCat("stream '", status.stream(), "' has no prediction yet");
  if (!hindrance.what.empty()) absl::StrAppend(&words, ", ", hindrance.what);
  if (!hindrance.why.empty()) absl::StrAppend(&words, ": ", hindrance.why);
  return WithReason("NO_PREDICTION_YET", {{"stream", status.stream()}},
                    absl::UnavailableError(absl::StrCat(words, "; try again")));
}

absl::StatusOr<v1::GetLatestResponse> Latest(const StreamRegistry& streams,
                                             const v1::GetLatestRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  const std::shared_ptr<const Prediction> newest = served->stream->ring().Newest();
  v1::StreamStatus status = StatusOf(*served, newest.get());
  if (newest == nullptr) return NoPredictionYet(status);
  v1::GetLatestResponse response;
  ToMessage(*newest, PartsOf(request), *response.mutable_prediction());
  *response.mutable_status() = std::move(status);
  return response;
}

}  // namespace

Guard::ServerStreamReactor* PredictionService::Subscribe(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request) {
  return guard_.ServerStream<v1::SubscribeRequest>(
      *context, "Subscribe", *request,
      [&](const auto& asked) -> absl::StatusOr<Guard::ServerStreamReactor*> {
        MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, parts_.streams.Find(asked.stream()));
        MILLRACE_ASSIGN_OR_RETURN(const SubscriptionOptions options, ToOptions(asked, *served));
        std::unique_ptr<StatusNotes> notes;
        if (asked.status()) {
          notes = std::make_unique<StatusNotes>(*served, parts_.events, parts_.clock);
        }
        return Subscription::Begin(std::make_shared<Subscription>(hubs_.Of(served), options,
                                                                  std::move(notes), parts_.calls),
                                   *context);
      });
}

grpc::ServerUnaryReactor* PredictionService::GetLatest(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return guard_.Unary<v1::GetLatestRequest>(
      {context, request, response}, "GetLatest",
      [this](const auto& asked) { return Latest(parts_.streams, asked); });
}

grpc::ServerUnaryReactor* PredictionService::Predict(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::PredictRequest>(
      {context, request, response}, "Predict", parts_.questions,
      [this, came = MonotonicClock().Now()](const auto& asked, const std::stop_token& stop) {
        return AnswerPredict(parts_.streams, asked, came, stop);
      },
      kMaxBytesOfParts);
}

}  // namespace millrace::service
