// A plan's report as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/layer_costs.h"
#include "service/plan_report.h"

namespace millrace::service {

/// A line a stage, and below it what the whole plan does.
[[nodiscard]] std::string TextOfPlan(const pipeline::NetworkCosts& network,
                                     const PlanReport& report);

/// Every schedule that there is in a line, for the same network and request; with those that the
/// request does not fit, why. Fails if it fits none.
[[nodiscard]] absl::StatusOr<std::string> CompareText(const pipeline::NetworkCosts& network,
                                                      const PlanRequest& request);

/// "stage 2 (layers 3-5)", "device 1", "the cut behind stage 2": where the bottleneck is.
[[nodiscard]] std::string PlaceText(const PlanReport& report);

}  // namespace millrace::service
