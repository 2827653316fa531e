// `--schedule auto`: the planner finds a plan for a camera's rate.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/plan_report.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// Returns the plan with the least staleness, then the least delay, that sustains one frame every
/// request.period_ms on at most request.devices devices. Fails with INVALID_ARGUMENT and a remedy
/// if the request has no period, or names stages. Fails with RESOURCE_EXHAUSTED if no plan fits
/// into the memory. REQUIRES: request.schedule is kAutoSchedule.
[[nodiscard]] absl::StatusOr<PlanReport> FindPlan(const pipeline::NetworkProfile& network,
                                                  const PlanRequest& request);

/// The found plan as text, one line each for frames, learning, staleness, T and the limit.
[[nodiscard]] std::string FoundText(const FoundPlan& found, int max_staleness);

}  // namespace millrace::service
