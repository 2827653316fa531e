#include "service/prediction_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/status.h"
#include "service/wire.h"

namespace millrace::service {
namespace {

/// A subscription that ends before it begins. gRPC owns it until OnDone().
class Refusal final : public grpc::ServerWriteReactor<v1::SubscribeResponse> {
 public:
  explicit Refusal(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

// Of either request.
template <typename Request>
Carried CarriedOf(const Request& request) {
  return {.flow = !request.omit_flow(), .next_picture = !request.omit_next_picture()};
}

absl::Status Latest(const Streams& streams, const v1::GetLatestRequest& request,
                    v1::Prediction& message) {
  const absl::StatusOr<CameraStream*> stream = streams.Find(request.stream());
  if (!stream.ok()) return stream.status();
  const std::shared_ptr<const Prediction> newest = (*stream)->ring().Newest();
  if (newest == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("stream '", (*stream)->config().name, "' has no prediction yet; try again"));
  }
  ToMessage(*newest, CarriedOf(request), message);
  return absl::OkStatus();
}

}  // namespace

PredictionService::PredictionService(const Streams& streams) : streams_(streams) {
  for (const std::unique_ptr<CameraStream>& stream : streams.all()) {
    counters_.try_emplace(stream.get());
    listening_.push_back(stream->ring().Listen([this] { subscribers_.Wake(); }));
  }
}

grpc::ServerWriteReactor<v1::SubscribeResponse>* PredictionService::Subscribe(
    grpc::CallbackServerContext* /*context*/, const v1::SubscribeRequest* request) {
  const absl::StatusOr<CameraStream*> stream = streams_.Find(request->stream());
  if (!stream.ok()) return new Refusal(stream.status());
  const Subscription::Options options = {.policy = request->policy() == v1::READ_POLICY_NEWEST
                                                       ? ReadPolicy::kNewest
                                                       : ReadPolicy::kEvery,
                                         .carried = CarriedOf(*request)};
  auto subscription = std::make_shared<Subscription>((*stream)->ring(), options,
                                                     counters_.at(*stream), subscribers_);
  Subscription* const reactor = subscription.get();
  subscribers_.Add(std::move(subscription));
  reactor->Start();
  return reactor;
}

grpc::ServerUnaryReactor* PredictionService::GetLatest(grpc::CallbackServerContext* context,
                                                       const v1::GetLatestRequest* request,
                                                       v1::GetLatestResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(Latest(streams_, *request, *response->mutable_prediction())));
  return reactor;
}

SubscriberCounts PredictionService::subscribers(const CameraStream& stream) const {
  return counters_.at(&stream).Read();
}

}  // namespace millrace::service
