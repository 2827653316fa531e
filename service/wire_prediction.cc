#include <bit>
#include <cstddef>
#include <optional>

#include "service/wire.h"
#include "service/wire_time.h"

namespace millrace::service {
namespace {

// The wire has little-endian numbers; on such a machine a flow is copied as it is.
static_assert(std::endian::native == std::endian::little);

void WriteFlow(const pipeline::FlowPrediction& flow, v1::Tensor& message) {
  message.add_shape(flow.height);
  message.add_shape(flow.width);
  message.add_shape(2);
  message.set_data_type(v1::DATA_TYPE_FLOAT32);
  message.set_data(flow.flow->data(), flow.flow->size() * sizeof(float));
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
    case kNonFinite:  // Has a flag whatever else there is.
    case kRate:
    case kPolicy:
      break;
  }
  return std::nullopt;
}

}  // namespace

void ToMessage(const Prediction& prediction, WithFlow with_flow, v1::Prediction& message) {
  message.set_stream(prediction.stream);
  message.set_epoch(prediction.epoch);
  message.set_frame_number(prediction.frame_number);
  if (prediction.camera_time) SetTime(*prediction.camera_time, *message.mutable_camera_time());
  SetTime(prediction.arrival_time, *message.mutable_arrival_time());
  SetTime(prediction.emission_time, *message.mutable_emission_time());
  SetDuration(prediction.delay, *message.mutable_delay());
  message.set_delay_frames(prediction.delay_frames);

  const pipeline::FlowPrediction& flow = prediction.flow;
  message.set_loss(flow.loss);
  message.set_loss_no_motion(flow.loss_no_motion);
  message.set_update_count(flow.updates);
  const auto flag = FlagOf(flow.skipped);
  if (!flow.finite) message.add_flags(v1::PREDICTION_FLAG_NON_FINITE);
  if (flag) message.add_flags(*flag);
  if (flow.drift) message.add_flags(v1::PREDICTION_FLAG_DRIFT);
  message.set_learned_from(flow.skipped == pipeline::SkipReason::kNone);
  if (with_flow == WithFlow::kYes) WriteFlow(flow, *message.mutable_flow());
  message.mutable_grid()->set_width(flow.width);
  message.mutable_grid()->set_height(flow.height);
  if (prediction.camera_width > 0) {
    message.mutable_camera()->set_width(prediction.camera_width);
    message.mutable_camera()->set_height(prediction.camera_height);
  }
}

}  // namespace millrace::service
