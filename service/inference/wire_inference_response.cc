#include "service/inference/wire_inference_response.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "google/protobuf/util/time_util.h"
#include "service/wire/wire_inference.h"

namespace millrace::service {
namespace {

using inference::ModelInferResponse;

const char* DatatypeOf(const v1::Tensor& tensor) {
  return tensor.data_type() == v1::DATA_TYPE_UINT8 ? "UINT8" : "FP32";
}

/// The names of the flags: "CUT,DRIFT".
std::string FlagsOf(const v1::Prediction& prediction) {
  constexpr std::string_view kPrefix = "PREDICTION_FLAG_";
  std::vector<std::string> names;
  for (const int flag : prediction.flags()) {
    names.push_back(v1::PredictionFlag_Name(flag).substr(kPrefix.size()));
  }
  return absl::StrJoin(names, ",");
}

void SetLosses(const v1::Prediction& wire, bool of_labels, ModelInferResponse& message) {
  auto& parameters = *message.mutable_parameters();
  if (of_labels) parameters["labelled"].set_int64_param(wire.labelled());
  if (!of_labels) parameters["loss_no_motion"].set_double_param(wire.loss_no_motion());
  if (!of_labels || wire.labelled() > 0) parameters["loss"].set_double_param(wire.loss());
}

void SetFigures(const v1::Prediction& wire, const Prediction& prediction,
                ModelInferResponse& message) {
  SetLosses(wire, prediction.model.outputs != nullptr, message);
  auto& parameters = *message.mutable_parameters();
  if (prediction.model.sample >= 0) {
    parameters["epoch"].set_int64_param(wire.epoch());
    parameters["frame_number"].set_int64_param(wire.frame_number());
  }
  parameters["update_count"].set_int64_param(wire.update_count());
  parameters["delay_ms"].set_double_param(
      static_cast<double>(google::protobuf::util::TimeUtil::DurationToMicroseconds(wire.delay())) /
      1000);
  parameters["learned_from"].set_bool_param(wire.learned_from());
  if (wire.flags_size() > 0) parameters["flags"].set_string_param(FlagsOf(wire));
  if (wire.has_best_class()) {
    parameters["best_class"].set_int64_param(wire.best_class());
    parameters["best_class_name"].set_string_param(wire.best_class_name());
  }
}

void AddOutput(const char* name, v1::Tensor&& tensor, ModelInferResponse& message) {
  ModelInferResponse::InferOutputTensor& output = *message.add_outputs();
  output.set_name(name);
  output.set_datatype(DatatypeOf(tensor));
  *output.mutable_shape() = tensor.shape();
  message.add_raw_output_contents(std::move(*tensor.mutable_data()));
}

}  // namespace

void ToInference(const Prediction& prediction, const PredictionParts& parts,
                 ModelInferResponse& message) {
  v1::Prediction wire;
  ToMessage(prediction, parts, wire);
  message.set_model_name(wire.stream());
  message.set_model_version(kModelVersion);
  SetFigures(wire, prediction, message);
  if (wire.has_flow()) AddOutput("flow", std::move(*wire.mutable_flow()), message);
  if (wire.has_next_picture()) {
    AddOutput("next_picture", std::move(*wire.mutable_next_picture()), message);
  }
  if (wire.has_uncertainty()) {
    AddOutput("uncertainty", std::move(*wire.mutable_uncertainty()), message);
  }
  if (wire.has_outputs()) AddOutput("outputs", std::move(*wire.mutable_outputs()), message);
}

std::string InferenceBytes(const Prediction& prediction, const PredictionParts& parts) {
  ModelInferResponse message;
  ToInference(prediction, parts, message);
  return message.SerializeAsString();
}

}  // namespace millrace::service
