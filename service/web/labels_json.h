// Outcomes and scores of a stream's labels, as JSON.
#pragma once

#include <optional>

#include "nlohmann/json.hpp"
#include "service/frames/frame_labels.h"

namespace millrace::service {

/// Labels by outcome, the number of scored predictions, and the score over the whole run and over
/// the last 200. The score is `accuracy` of classes or `squared_error` of values, and null before
/// the first scored prediction. The result is null if the stream learns without labels.
[[nodiscard]] nlohmann::json LabelsJson(const std::optional<LabelCounts>& counts);

}  // namespace millrace::service
