// The Open Inference Protocol's messages, and what they stand for here: a camera stream is a model,
// its name the model's, and there is one version of it, the newest.
//
// | tensor       | datatype | shape                | of which streams                          |
// | ------------ | -------- | -------------------- | ----------------------------------------- |
// | pictures     | UINT8    | [n, height, width, 3] | in: a sample, oldest first, of any size   |
// |              | BYTES    | [n]                  | the same as JPEG or PNG images            |
// | flow         | FP32     | [height, width, 2]   | out: those that learn without labels      |
// | next_picture | UINT8    | [height, width, 3]   | out: those that predict the next frame    |
// | outputs      | FP32     | [outputs]            | out: those that learn from labels         |
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
#include "service/wire/wire.h"

namespace millrace::service {

/// The one version that every model has.
inline constexpr char kModelVersion[] = "1";

/// NOT_FOUND unless `version` is that, or empty.
[[nodiscard]] absl::Status CheckModelVersion(const std::string& version);

/// INVALID_ARGUMENT if the id, which every answer repeats, is longer than 256 bytes.
[[nodiscard]] absl::Status CheckId(const std::string& id);

/// What the model of `stream` takes and gives. `message` must be empty.
void ToMetadata(const CameraStream& stream, inference::ModelMetadataResponse& message);

/// The pictures of a request.
struct InferenceSample {
  /// Point into the request, or into `owned`.
  std::vector<ingest::PictureContent> pictures;
  std::deque<std::string> owned;
};

/// Borrows `request`. INVALID_ARGUMENT, naming the field, if there is another input than
/// `pictures`, it is not as its datatype and shape say, or it comes both raw and as `contents`.
[[nodiscard]] absl::StatusOr<InferenceSample> ToSample(const inference::ModelInferRequest& request);

/// Which outputs are asked for; all, if none is named. INVALID_ARGUMENT, naming those there are, if
/// the model of `stream` has no such output, and for parameters of an output: there are none.
[[nodiscard]] absl::StatusOr<Carried> ToCarried(const inference::ModelInferRequest& request,
                                                const CameraStream& stream);

/// What a request without inputs subscribes to: its parameters `policy` (LATEST, DROP_OLDEST,
/// LOSSLESS), `depth`, `run_id` and `sequence` are SubscribeRequest's. INVALID_ARGUMENT, naming it,
/// for any other parameter, one of another type, or a `sequence` that is of no run.
[[nodiscard]] absl::StatusOr<v1::SubscribeRequest> ToSubscription(
    const inference::ModelInferRequest& request);

}  // namespace millrace::service
