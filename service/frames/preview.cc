#include "service/frames/preview.h"

#include <cstdint>
#include <vector>

#include "pipeline/learner/picture_to_come.h"
#include "service/frames/flow_colors.h"
#include "service/frames/jpeg.h"

namespace millrace::service {
namespace {

std::vector<std::uint8_t> Pixels(const Prediction& prediction) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (model.flow == nullptr) return prediction.picture->rgb;
  if (prediction.next_frame) {
    return pipeline::PictureToCome(prediction.picture->rgb, *model.flow, model.width, model.height);
  }
  return FlowColors(*model.flow, FlowScale().Next(*model.flow));
}

}  // namespace

std::string PreviewJpeg(const Prediction& prediction) {
  if (prediction.picture == nullptr) return "";
  const absl::StatusOr<std::string> jpeg = EncodeJpeg(Pixels(prediction), prediction.picture->width,
                                                      prediction.picture->height, JpegOptions());
  return jpeg.value_or("");
}

}  // namespace millrace::service
