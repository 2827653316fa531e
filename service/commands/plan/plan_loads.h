// Loads of a plan's stages, devices and cuts, per sample.
#pragma once

#include <vector>

#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// The devices, loads and holdings of the stages that `cuts` makes. Does not set `figures`.
[[nodiscard]] std::vector<PlannedStage> PlannedStages(
    const pipeline::NetworkProfile& network, const pipeline::Cuts& cuts, const pipeline::Plan& plan,
    const std::vector<pipeline::StageCost>& costs);

/// The stage, device, cut or host's link with the largest load. A cut's load is that of the link
/// that carries its copies, one way. REQUIRES: plan, costs and stages of `report` are set.
[[nodiscard]] Bottleneck FindBottleneck(const pipeline::NetworkProfile& network,
                                        const PlanReport& report);

}  // namespace millrace::service
