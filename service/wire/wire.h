// Converts our types into messages of `millrace.v1`.
//
// No other component converts them. The comments in the .proto files say what each field means.
#pragma once

#include <string>

#include "millrace/v1/prediction.pb.h"
#include "millrace/v1/stream.pb.h"
#include "service/frames/prediction.h"
#include "service/registry/served_stream.h"
#include "service/wire/prediction_parts.h"

namespace millrace::service {

/// Writes `prediction` into `message`, which must be empty. Copies the flow's bytes, and encodes
/// the predicted picture if there is one.
void ToMessage(const Prediction& prediction, const PredictionParts& parts, v1::Prediction& message);

/// That message as bytes, which subscribers share.
[[nodiscard]] std::string PredictionBytes(const Prediction& prediction,
                                          const PredictionParts& parts);

/// Writes the current state of the stream into `message`, which must be empty.
void ToMessage(const ServedStream& served, v1::Stream& message);

}  // namespace millrace::service
