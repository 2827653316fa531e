// How much every stage, device and cut of a plan has to do for a sample.
#pragma once

#include <vector>

#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// The devices, loads and holdings of the stages that `cuts` makes. Figures are left as they are.
[[nodiscard]] std::vector<PlannedStage> PlannedStages(
    const pipeline::NetworkCosts& network, const pipeline::Cuts& cuts, const pipeline::Plan& plan,
    const std::vector<pipeline::StageCost>& costs);

/// What is carried over the cut behind `stage` for a sample, there and back. 0 where both sides are
/// on one device.
[[nodiscard]] double CutLoad(const PlanReport& report, int stage);

/// What has the most to do. REQUIRES: plan, costs and stages of `report` are set.
[[nodiscard]] Bottleneck FindBottleneck(const pipeline::NetworkCosts& network,
                                        const PlanReport& report);

}  // namespace millrace::service
