// A plan's report as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// One line per stage, and below them the properties of the whole plan.
[[nodiscard]] std::string TextOfPlan(const pipeline::NetworkProfile& network,
                                     const PlanReport& report);

/// One line per fitting schedule; below them, the reasons why the others do not fit.
[[nodiscard]] std::string CompareText(const std::vector<ComparedSchedule>& schedules);

/// The bottleneck's place: "stage 2 (layers 3-5)", "device 1", "the cut behind stage 2",
/// "the link of host 0".
[[nodiscard]] std::string PlaceText(const PlanReport& report);

}  // namespace millrace::service
