// Runs a stream's model on a client's own pictures.
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

/// Turns an error of picture `number` into a field violation. Other errors stay unchanged.
[[nodiscard]] absl::Status OfPicture(std::size_t number, const absl::Status& status);

/// A client's pictures in the form that a model takes.
struct ClientSample {
  std::vector<std::shared_ptr<const ingest::Picture>> pictures = {};
  /// The original size of the last picture.
  int own_width = 0;
  int own_height = 0;
};

/// Decodes and scales the pictures, oldest first. INVALID_ARGUMENT, naming the picture, if one is
/// invalid or their number is wrong for a sample. CANCELLED once `stop` is requested, after the
/// current picture. Thread-safe.
[[nodiscard]] absl::StatusOr<ClientSample> MakeSample(
    const CameraStream& stream, std::span<const ingest::PictureContent> pictures,
    const std::stop_token& stop);

/// Predicts `sample` on the calling thread. `came`: the arrival time of the request on the
/// monotonic clock. Fails as CameraStream::Predict() does. Thread-safe.
[[nodiscard]] absl::StatusOr<Prediction> PredictSample(CameraStream& stream,
                                                       const ClientSample& sample,
                                                       std::chrono::nanoseconds came);

}  // namespace millrace::service
