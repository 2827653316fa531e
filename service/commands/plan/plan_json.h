// A plan's report as JSON, for other programs.
#pragma once

#include <string>
#include <vector>

#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// The first phase, and the one after it under "then". Layers are counted from 0 and both ends
/// included, stages from 1, devices and places in their order from 0. What auto found stands beside
/// the rest.
[[nodiscard]] std::string PlanJson(const pipeline::NetworkCosts& network,
                                   const std::vector<PlanReport>& phases);

/// A list of `schedules`, each as PlanJson() has it, or with its name and the error.
[[nodiscard]] std::string CompareJson(const pipeline::NetworkCosts& network,
                                      const std::vector<ComparedSchedule>& schedules);

}  // namespace millrace::service
