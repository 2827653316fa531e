// Serves PredictionService.Predict: predictions for one or several samples of a client's own
// pictures.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// The most samples in one request. Each needs a whole forward pass.
inline constexpr int kMaxSamples = 64;
/// The size limit of a response with several predictions. Clients accept messages of 64 MiB.
inline constexpr std::int64_t kMaxAnswerBytes = std::int64_t{48} << 20;

/// Predicts the samples of `request` on the calling thread. `came`: the arrival time of the request
/// on the monotonic clock. INVALID_ARGUMENT names each wrong sample and picture, or the exceeded
/// limit. Otherwise fails as MakeSample() and PredictSample() do. Thread-safe.
[[nodiscard]] absl::StatusOr<v1::PredictResponse> AnswerPredict(const StreamRegistry& streams,
                                                                const v1::PredictRequest& request,
                                                                std::chrono::nanoseconds came,
                                                                const std::stop_token& stop);

}  // namespace millrace::service
