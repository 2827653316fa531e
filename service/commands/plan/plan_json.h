// A plan's report as JSON, for other programs.
#pragma once

#include <string>
#include <vector>

#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// The first phase, with the next one under "then". Layers count from 0 and ranges include both
/// ends. Stages count from 1; devices and places in their order count from 0. The result of auto is
/// added.
[[nodiscard]] std::string PlanJson(const pipeline::NetworkProfile& network,
                                   const std::vector<PlanReport>& phases);

/// A list of `schedules`, each as by PlanJson(), or with its name and the error.
[[nodiscard]] std::string CompareJson(const pipeline::NetworkProfile& network,
                                      const std::vector<ComparedSchedule>& schedules);

}  // namespace millrace::service
