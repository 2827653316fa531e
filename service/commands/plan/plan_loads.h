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

/// The time to copy a sample's data over the cut after `stage`, both ways. 0 if both sides are on
/// one device.
[[nodiscard]] double CutLoad(const PlanReport& report, int stage);

/// The stage, device or cut with the largest load. REQUIRES: plan, costs and stages of `report` are
/// set.
[[nodiscard]] Bottleneck FindBottleneck(const pipeline::NetworkProfile& network,
                                        const PlanReport& report);

}  // namespace millrace::service
