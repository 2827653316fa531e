#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingest/frame/grid.h"
#include "pipeline/learner/flow_uncertainty.h"
#include "pipeline/learner/picture_to_come.h"
#include "service/frames/prediction_flow.h"
#include "service/frames/preview.h"
#include "service/wire/wire.h"
#include "service/wire/wire_time.h"

namespace millrace::service {
namespace {

// Protobuf is little-endian, so on a little-endian machine a flow is copied unchanged.
static_assert(std::endian::native == std::endian::little);

void WriteOutputs(const std::vector<float>& outputs, v1::Tensor& message) {
  message.add_shape(static_cast<std::int64_t>(outputs.size()));
  message.set_data_type(v1::DATA_TYPE_FLOAT32);
  message.set_data(outputs.data(), outputs.size() * sizeof(float));
}

void WriteLabelled(const Prediction& prediction, bool carry_outputs, v1::Prediction& message) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (carry_outputs) WriteOutputs(*model.outputs, *message.mutable_outputs());
  if (model.best_class >= 0) message.set_best_class(model.best_class);
  message.set_best_class_name(prediction.best_class_name);
  message.set_labelled(model.labelled);
}

void WriteFlow(const pipeline::ModelPrediction& model, v1::Tensor& message) {
  message.add_shape(model.height);
  message.add_shape(model.width);
  message.add_shape(2);
  message.set_data_type(v1::DATA_TYPE_FLOAT32);
  message.set_data(model.flow->data(), model.flow->size() * sizeof(float));
}

void WriteUncertainty(const Prediction& prediction, v1::Prediction& message) {
  const auto flow = FlowOverPicturesOf(prediction);
  if (!flow) return;
  v1::Tensor& tensor = *message.mutable_uncertainty();
  tensor.add_shape(flow->height);
  tensor.add_shape(flow->width);
  tensor.set_data_type(v1::DATA_TYPE_FLOAT32);
  const std::vector<float> pixels = pipeline::FlowUncertainty(*flow);
  tensor.set_data(pixels.data(), pixels.size() * sizeof(float));
}

void WriteNextPicture(const Prediction& prediction, v1::Tensor& message) {
  const pipeline::ModelPrediction& model = prediction.model;
  constexpr int kColours = 3;
  message.add_shape(model.height);
  message.add_shape(model.width);
  message.add_shape(kColours);
  message.set_data_type(v1::DATA_TYPE_UINT8);
  const std::vector<std::uint8_t> rgb =
      pipeline::PictureToCome(prediction.picture->rgb, *model.flow, model.width, model.height);
  message.set_data(rgb.data(), rgb.size());
}

void WriteView(const Prediction& prediction, v1::GridView& message) {
  const ingest::GridView view =
      ingest::ViewOf({.width = prediction.camera_width, .height = prediction.camera_height},
                     {.width = prediction.model.width, .height = prediction.model.height});
  message.set_scale(view.scale);
  message.set_left(view.left);
  message.set_top(view.top);
}

std::optional<v1::PredictionFlag> FlagOf(pipeline::SkipReason reason) {
  using enum pipeline::SkipReason;
  switch (reason) {
    case kRepeated:
      return v1::PREDICTION_FLAG_REPEATED_PICTURE;
    case kFrozen:
      return v1::PREDICTION_FLAG_FROZEN_PICTURE;
    case kCut:
      return v1::PREDICTION_FLAG_CUT;
    case kLeavesPicture:
    case kTooFast:
      return v1::PREDICTION_FLAG_IMPLAUSIBLE;
    case kNone:
    case kNonFinite:  // Always has a flag of its own.
    case kRate:
    case kPolicy:
    case kUnlabelled:
    case kHeld:
      break;
  }
  return std::nullopt;
}

void WriteFlags(const Prediction& prediction, v1::Prediction& message) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (!model.finite) message.add_flags(v1::PREDICTION_FLAG_NON_FINITE);
  if (const auto flag = FlagOf(model.skipped)) message.add_flags(*flag);
  if (model.drift) message.add_flags(v1::PREDICTION_FLAG_DRIFT);
  if (prediction.after_gap) message.add_flags(v1::PREDICTION_FLAG_AFTER_GAP);
  if (prediction.new_size) message.add_flags(v1::PREDICTION_FLAG_NEW_SIZE);
}

}  // namespace

void ToMessage(const Prediction& prediction, const PredictionParts& parts,
               v1::Prediction& message) {
  message.set_stream(prediction.stream);
  message.set_epoch(prediction.epoch);
  message.set_frame_number(prediction.frame_number);
  if (prediction.camera_time) SetTime(*prediction.camera_time, *message.mutable_camera_time());
  SetTime(prediction.arrival_time, *message.mutable_arrival_time());
  SetTime(prediction.emission_time, *message.mutable_emission_time());
  SetDuration(prediction.delay, *message.mutable_delay());
  message.set_delay_frames(prediction.delay_frames);

  const pipeline::ModelPrediction& model = prediction.model;
  message.set_loss(model.loss);
  message.set_loss_no_motion(model.loss_no_motion);
  message.set_update_count(model.updates);
  WriteFlags(prediction, message);
  message.set_learned_from(model.skipped == pipeline::SkipReason::kNone);
  if (model.outputs != nullptr) {
    WriteLabelled(prediction, parts.outputs, message);
  } else {
    if (parts.flow) WriteFlow(model, *message.mutable_flow());
    if (parts.uncertainty) WriteUncertainty(prediction, message);
    if (parts.next_picture && prediction.next_frame) {
      WriteNextPicture(prediction, *message.mutable_next_picture());
    }
    message.mutable_grid()->set_width(model.width);
    message.mutable_grid()->set_height(model.height);
  }
  if (parts.preview) message.set_preview(PreviewJpeg(prediction));
  if (prediction.camera_width > 0) {
    message.mutable_camera()->set_width(prediction.camera_width);
    message.mutable_camera()->set_height(prediction.camera_height);
    if (model.outputs == nullptr) WriteView(prediction, *message.mutable_view());
  }
}

std::string PredictionBytes(const Prediction& prediction, const PredictionParts& parts) {
  v1::Prediction message;
  ToMessage(prediction, parts, message);
  return message.SerializeAsString();
}

}  // namespace millrace::service
