// What the labels of a stream came to, as JSON.
#pragma once

#include <optional>

#include "nlohmann/json.hpp"
#include "service/frames/frame_labels.h"

namespace millrace::service {

/// Labels by outcome, how many predictions they scored, and the score: `accuracy` of classes,
/// `squared_error` of values, each over the whole run and over the last 200. Null where a stream
/// learns without labels; scores are null before the first.
[[nodiscard]] nlohmann::json LabelsJson(const std::optional<LabelCounts>& counts);

}  // namespace millrace::service
