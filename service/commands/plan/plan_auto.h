// `--schedule auto`: the plan that a camera's rate needs, found by the planner.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/plan_report.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// The plan with the least staleness, then the least delay, that holds one frame every
/// request.period_ms, on request.devices at most. Fails with INVALID_ARGUMENT, saying what to ask
/// for instead: without a period, or where stages are given; and with RESOURCE_EXHAUSTED if no plan
/// fits into the memory.
/// REQUIRES: request.schedule is kAutoSchedule.
[[nodiscard]] absl::StatusOr<PlanReport> FindPlan(const pipeline::NetworkCosts& network,
                                                  const PlanRequest& request);

/// What it found, and the staleness of its plan, a line for each thing to know: frames, learning,
/// staleness, T, what limits.
[[nodiscard]] std::string FoundText(const FoundPlan& found, int most_staleness);

}  // namespace millrace::service
