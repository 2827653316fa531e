// Reads messages of the Open Inference Protocol. A camera stream is a model with the stream's name.
// Each model has one version, the newest.
//
// | tensor       | datatype | shape                 | streams                                  |
// | ------------ | -------- | --------------------- | ---------------------------------------- |
// | pictures     | UINT8    | [n, height, width, 3] | in: a sample, oldest first, of any size  |
// |              | BYTES    | [n]                   | the same as JPEG or PNG images           |
// | flow         | FP32     | [height, width, 2]    | out: streams that learn without labels   |
// | next_picture | UINT8    | [height, width, 3]    | out: streams that predict the next frame |
// | outputs      | FP32     | [outputs]             | out: streams that learn from labels      |
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/open_inference_grpc.pb.h"
#include "ingest/frame/raw_picture.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/stream/camera_stream.h"
#include "service/wire/prediction_parts.h"
#include "service/wire/wire_subscription.h"

namespace millrace::service {

/// The only version of every model.
inline constexpr char kModelVersion[] = "1";

/// NOT_FOUND unless `version` is kModelVersion or empty.
[[nodiscard]] absl::Status CheckModelVersion(const std::string& version);

/// INVALID_ARGUMENT if the id, which every response repeats, is longer than 256 bytes.
[[nodiscard]] absl::Status CheckId(const std::string& id);

/// Writes the inputs and outputs of the model of `stream` into `message`, which must be empty.
void ToMetadata(const CameraStream& stream, inference::ModelMetadataResponse& message);

/// The pictures of a request.
struct InferenceSample {
  /// They point into the request or into `owned`.
  std::vector<ingest::PictureContent> pictures;
  std::deque<std::string> owned;
};

/// The pictures of `request`, which it borrows. INVALID_ARGUMENT, naming the field, for an input
/// other than `pictures`, or data that contradict the datatype or shape. The same error for an
/// input given both raw and as `contents`.
[[nodiscard]] absl::StatusOr<InferenceSample> ToSample(const inference::ModelInferRequest& request);

/// The requested outputs; all outputs if the request names none. INVALID_ARGUMENT, listing the
/// existing outputs, if the model of `stream` lacks a requested one, and for parameters of an
/// output, which are not supported.
[[nodiscard]] absl::StatusOr<PredictionParts> ToParts(const inference::ModelInferRequest& request,
                                                      const CameraStream& stream);

/// The subscription that a request without inputs describes. Its parameters `policy` (LATEST,
/// DROP_OLDEST, LOSSLESS), `depth`, `run_id` and `sequence` are those of SubscribeRequest.
/// INVALID_ARGUMENT, naming the parameter, for another parameter, a wrong type, or a `sequence`
/// without a `run_id`.
[[nodiscard]] absl::StatusOr<v1::SubscribeRequest> ToSubscription(
    const inference::ModelInferRequest& request);

}  // namespace millrace::service
