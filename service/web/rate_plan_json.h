// What planning for a frame rate came to, as JSON: the page's and the summary's.
#pragma once

#include <optional>

#include "nlohmann/json.hpp"
#include "pipeline/learner/learner_description.h"

namespace millrace::service {

/// null where the schedule was named.
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
