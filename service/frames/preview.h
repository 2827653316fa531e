// Shows a prediction as a small picture.
#pragma once

#include <string>

#include "service/frames/prediction.h"

namespace millrace::service {

/// A JPEG of the network's input size: the colours of the flow, the predicted picture, or, for
/// classes or values, the frame. Empty if there is no picture.
[[nodiscard]] std::string PreviewJpeg(const Prediction& prediction);

}  // namespace millrace::service
