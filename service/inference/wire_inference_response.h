// What a model says, as the Open Inference Protocol has it (wire_inference.h).
#pragma once

#include <string>

#include "inference/open_inference_grpc.pb.h"
#include "service/frames/prediction.h"
#include "service/wire/wire.h"

namespace millrace::service {

/// Writes what is `carried` of `prediction` into `message`: its figures become parameters, those
/// that it has. What is of no frame has no number and no epoch; a step without labels has no loss.
void ToInference(const Prediction& prediction, const Carried& carried,
                 inference::ModelInferResponse& message);

/// The bytes of that message: what subscribers share.
[[nodiscard]] std::string InferenceBytes(const Prediction& prediction, const Carried& carried);

}  // namespace millrace::service
