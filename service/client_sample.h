// Asks a stream's model about pictures of a client's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "ingest/raw_picture.h"
#include "service/camera_stream.h"
#include "service/prediction.h"

namespace millrace::service {

/// INVALID_ARGUMENT if a request takes more memory than those that wait may have. Parsed, one of
/// many empty parts takes thirty times what it was on the wire.
[[nodiscard]] absl::Status CheckMemory(const google::protobuf::Message& request);

/// What is wrong with a client's picture, by its number: a wrong field. Other errors stay.
[[nodiscard]] absl::Status OfPicture(std::size_t number, const absl::Status& status);

/// Decodes and scales the pictures, oldest first, and has the model predict them, on the thread
/// that calls. `came`: when the client asked, on the monotonic clock. INVALID_ARGUMENT, naming the
/// picture, if one is none, or they are not as many as a sample has; else as
/// CameraStream::Predict(). Thread-safe.
[[nodiscard]] absl::StatusOr<Prediction> PredictSample(
    CameraStream& stream, std::span<const ingest::PictureContent> pictures,
    std::chrono::nanoseconds came);

}  // namespace millrace::service
