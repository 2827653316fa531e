// The live page's data, as JSON.
#pragma once

#include <memory>
#include <vector>

#include "nlohmann/json.hpp"
#include "pipeline/learner/learner.h"
#include "service/frames/prediction.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// One stream: its source, learner, frames, rates, delays and losses. `newest` may be null. Each
/// point of the history is [second, loss, no-motion loss, and both over the recent predictions at
/// its end]. Values that are not finite are null.
[[nodiscard]] nlohmann::json LivePageStreamJson(const ServedStream& served,
                                                const Prediction* newest,
                                                const std::vector<LossPoint>& history);

}  // namespace millrace::service
