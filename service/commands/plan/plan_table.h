// A plan's report as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// A line a stage, and below it what the whole plan does.
[[nodiscard]] std::string TextOfPlan(const pipeline::NetworkCosts& network,
                                     const PlanReport& report);

/// A line for each of `schedules`; below them, why the others do not fit.
[[nodiscard]] std::string CompareText(const std::vector<ComparedSchedule>& schedules);

/// "stage 2 (layers 3-5)", "device 1", "the cut behind stage 2": where the bottleneck is.
[[nodiscard]] std::string PlaceText(const PlanReport& report);

}  // namespace millrace::service
