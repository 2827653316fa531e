// The results of a `millrace serve` run: text for its end, and JSON for programs.
#pragma once

#include <span>
#include <string>

#include "nlohmann/json.hpp"
#include "pipeline/learner/learner_description.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// The results of one stream, read after the stream was stopped.
struct StreamSummary {
  StreamSnapshot snapshot;
  RunStats stats;
  pipeline::LearnerDescription learner;
  /// The loss; `stats` has the sums of its terms.
  pipeline::FlowLossOptions loss = {};
};

[[nodiscard]] StreamSummary Summarise(const ServedStream& served);

/// One paragraph per stream.
[[nodiscard]] std::string SummaryText(std::span<const StreamSummary> streams);

/// All streams together, and each stream under "streams". Frame counts and rates are sums. Delays
/// are over all predictions, losses are means over the streams. Unknown values are null.
[[nodiscard]] nlohmann::json SummaryJson(std::span<const StreamSummary> streams);

}  // namespace millrace::service
