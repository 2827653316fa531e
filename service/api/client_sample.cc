#include "service/api/client_sample.h"

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "ingest/pictures/picture_maker.h"

namespace millrace::service {
namespace {

absl::Status CheckCount(const CameraStream& stream, std::size_t count) {
  const auto wanted = static_cast<std::size_t>(stream.pictures_per_sample());
  if (count == wanted) return absl::OkStatus();
  return InvalidFields(
      {{"pictures", absl::StrCat("has ", count, "; a sample of stream '", stream.config().name,
                                 "' is ", wanted, wanted == 1 ? " picture" : " pictures",
                                 wanted == 1 ? "" : ", the oldest first")}});
}

absl::Status StillWanted(const std::stop_token& stop) {
  if (!stop.stop_requested()) return absl::OkStatus();
  return absl::CancelledError("the call was cancelled");
}

}  // namespace

absl::Status OfPicture(std::size_t number, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return InvalidFields({{absl::StrCat("pictures[", number, "]"), std::string(status.message())}});
}

absl::StatusOr<ClientSample> MakeSample(const CameraStream& stream,
                                        std::span<const ingest::PictureContent> pictures,
                                        const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckCount(stream, pictures.size()));
  const auto learner = stream.learner();
  const ingest::PictureMaker maker(learner->width, learner->height);
  ClientSample sample;
  for (const ingest::PictureContent& picture : pictures) {
    MILLRACE_RETURN_IF_ERROR(StillWanted(stop));
    absl::StatusOr<ingest::MadePicture> made = maker.From(picture);
    if (!made.ok()) return OfPicture(sample.pictures.size(), made.status());
    sample.pictures.push_back(made->picture);
    sample.own_width = made->own_width;
    sample.own_height = made->own_height;
  }
  MILLRACE_RETURN_IF_ERROR(StillWanted(stop));
  return sample;
}

absl::StatusOr<Prediction> PredictSample(CameraStream& stream, const ClientSample& sample,
                                         std::chrono::nanoseconds came) {
  MILLRACE_ASSIGN_OR_RETURN(Prediction prediction, stream.Predict(sample.pictures));
  prediction.camera_width = sample.own_width;
  prediction.camera_height = sample.own_height;
  prediction.emission_time = WallTime();
  prediction.delay = MonotonicClock().Now() - came;
  prediction.arrival_time = prediction.emission_time - prediction.delay;
  return prediction;
}

}  // namespace millrace::service
