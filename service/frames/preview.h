// A prediction as a small picture, for people.
#pragma once

#include <string>

#include "service/frames/prediction.h"

namespace millrace::service {

/// JPEG, of the size of the network's input: the colours of the flow, the picture to come, or,
/// where classes or values are predicted, the frame. Empty where there is nothing to show.
[[nodiscard]] std::string PreviewJpeg(const Prediction& prediction);

}  // namespace millrace::service
