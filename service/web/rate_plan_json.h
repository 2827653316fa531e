// The result of planning for a frame rate, as JSON, for the page and the summary.
#pragma once

#include <optional>

#include "nlohmann/json.hpp"
#include "pipeline/learner/learner_description.h"

namespace millrace::service {

/// Null if the configuration names a schedule.
[[nodiscard]] inline nlohmann::json RatePlanJson(const std::optional<pipeline::RatePlan>& plan) {
  if (!plan) return nullptr;
  return {{"frames_per_second", plan->frames_per_second},
          {"holds", plan->holds},
          {"expected_dropped_share", plan->dropped_share},
          {"limit", plan->limit},
          {"times_switched", plan->switched},
          {"times_kept", plan->kept},
          {"replan_cause", plan->why}};
}

}  // namespace millrace::service
