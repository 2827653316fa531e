// Asks a stream's model about pictures of a client's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/frame/raw_picture.h"
#include "service/frames/prediction.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// What is wrong with a client's picture, by its number: a wrong field. Other errors stay.
[[nodiscard]] absl::Status OfPicture(std::size_t number, const absl::Status& status);

/// Pictures of a client's as a model takes them.
struct ClientSample {
  std::vector<std::shared_ptr<const ingest::Picture>> pictures = {};
  /// The size that the last of them had.
  int own_width = 0;
  int own_height = 0;
};

/// Decodes and scales the pictures, oldest first. INVALID_ARGUMENT, naming the picture, if one is
/// none, or they are not as many as a sample has; CANCELLED once `stop` says so, after the picture
/// that is being decoded. Thread-safe.
[[nodiscard]] absl::StatusOr<ClientSample> MakeSample(
    const CameraStream& stream, std::span<const ingest::PictureContent> pictures,
    const std::stop_token& stop);

/// Has the model predict `sample`, on the thread that calls. `came`: when the client asked, on the
/// monotonic clock. Fails as CameraStream::Predict(). Thread-safe.
[[nodiscard]] absl::StatusOr<Prediction> PredictSample(CameraStream& stream,
                                                       const ClientSample& sample,
                                                       std::chrono::nanoseconds came);

}  // namespace millrace::service
