// Answers PredictionService.Predict: one sample of pictures of a client's own, or several.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "absl/status/statusor.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// Samples in one request, each of which takes a whole forward.
inline constexpr int kMostSamples = 64;
/// What the predictions of several samples may have together. Clients take messages of 64 MiB.
inline constexpr std::int64_t kMostAnswerBytes = std::int64_t{48} << 20;

/// Has the model predict the samples of `request`, on the thread that calls. `came`: when the
/// client asked, on the monotonic clock. INVALID_ARGUMENT, naming each sample and picture that is
/// wrong, or the bound that is passed; else as MakeSample() and PredictSample(). Thread-safe.
[[nodiscard]] absl::StatusOr<v1::PredictResponse> AnswerPredict(const Streams& streams,
                                                                const v1::PredictRequest& request,
                                                                std::chrono::nanoseconds came,
                                                                const std::stop_token& stop);

}  // namespace millrace::service
