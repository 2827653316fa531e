// Asks a stream's model about pictures of a client's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/raw_picture.h"
#include "service/camera_stream.h"
#include "service/prediction.h"

namespace millrace::service {

/// What is wrong with a client's picture, by its number: a wrong field. Other errors stay.
[[nodiscard]] absl::Status OfPicture(std::size_t number, const absl::Status& status);

/// Decodes and scales the pictures, oldest first, and has the model predict them, on the thread
/// that calls. `came`: when the client asked, on the monotonic clock. INVALID_ARGUMENT, naming the
/// picture, if one is none, or they are not as many as a sample has; CANCELLED once `stop` says so,
/// after the picture that is being decoded; else as CameraStream::Predict(). Thread-safe.
[[nodiscard]] absl::StatusOr<Prediction> PredictSample(
    CameraStream& stream, std::span<const ingest::PictureContent> pictures,
    std::chrono::nanoseconds came, const std::stop_token& stop);

}  // namespace millrace::service
