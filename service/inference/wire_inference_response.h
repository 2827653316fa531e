// A model's prediction as a message of the Open Inference Protocol (wire_inference.h).
#pragma once

#include <string>

#include "inference/open_inference_grpc.pb.h"
#include "service/frames/prediction.h"
#include "service/wire/wire.h"

namespace millrace::service {

/// Writes the parts of `prediction` that `parts` selects into `message`. Its scores become
/// parameters, if present. A prediction without a frame has no number and no epoch; a step without
/// labels has no loss.
void ToInference(const Prediction& prediction, const PredictionParts& parts,
                 inference::ModelInferResponse& message);

/// That message as bytes, which subscribers share.
[[nodiscard]] std::string InferenceBytes(const Prediction& prediction,
                                         const PredictionParts& parts);

}  // namespace millrace::service
