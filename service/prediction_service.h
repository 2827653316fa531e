// `millrace.v1.PredictionService`: hands out the predictions of the camera streams.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/v1/prediction_service.grpc.pb.h"
#include "service/prediction_ring.h"
#include "service/streams.h"
#include "service/subscribers.h"

namespace millrace::service {

/// Translates requests into reads of the streams' rings. Thread-safe. `streams` must outlive it,
/// and the server that it is registered with must be shut down before it is destroyed.
class PredictionService final : public v1::PredictionService::CallbackService {
 public:
  explicit PredictionService(const Streams& streams);

  grpc::ServerWriteReactor<v1::SubscribeResponse>* Subscribe(
      grpc::CallbackServerContext* context, const v1::SubscribeRequest* request) override;

  grpc::ServerUnaryReactor* GetLatest(grpc::CallbackServerContext* context,
                                      const v1::GetLatestRequest* request,
                                      v1::GetLatestResponse* response) override;

  /// The subscribers of `stream`, one of the streams given.
  [[nodiscard]] SubscriberCounts subscribers(const CameraStream& stream) const;

 private:
  // Constant after construction; the counters are self-synchronized.
  const Streams& streams_;
  std::map<const CameraStream*, SubscriberCounters> counters_;

  Subscribers subscribers_;
  // Their listeners wake `subscribers_`.
  std::vector<std::unique_ptr<PredictionRing::Listening>> listening_;
};

}  // namespace millrace::service
