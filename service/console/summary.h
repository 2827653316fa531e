// What a run of `millrace serve` came to: for people at its end, and as JSON for programs.
#pragma once

#include <span>
#include <string>

#include "nlohmann/json.hpp"
#include "pipeline/learner/learner_description.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// One stream's run, read after the stream was stopped.
struct StreamSummary {
  StreamSnapshot snapshot;
  RunFigures figures;
  pipeline::LearnerDescription learner;
  /// What it learned by, whose terms `figures` sums up.
  pipeline::FlowLossOptions loss = {};
};

[[nodiscard]] StreamSummary Summarise(const ServedStream& served);

/// A paragraph for each stream.
[[nodiscard]] std::string SummaryText(std::span<const StreamSummary> streams);

/// All streams together, and each under "streams". Frame counts and rates add up, delays are those
/// of all predictions, losses means over the streams. What is unknown is null.
[[nodiscard]] nlohmann::json SummaryJson(std::span<const StreamSummary> streams);

}  // namespace millrace::service
