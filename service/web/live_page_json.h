// What the live page shows, as JSON.
#pragma once

#include <memory>
#include <vector>

#include "nlohmann/json.hpp"
#include "pipeline/learner/learner.h"
#include "service/frames/prediction.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// One stream: its source, learner, frames, rates, delays and losses; `newest` may be null; history
/// as [second, loss, loss of no motion, and both over the recent predictions at its end]. Figures
/// that are not finite are null.
[[nodiscard]] nlohmann::json LivePageStreamJson(const ServedStream& served,
                                                const Prediction* newest,
                                                const std::vector<LossPoint>& history);

}  // namespace millrace::service
