// What the stages of a plan hold at once, and the bytes that it takes on every device.
#pragma once

#include <vector>

#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::pipeline {

/// Of stages 1 to D: for their backwards all samples in full or, where one of them goes forward
/// again, their inputs and one in full.
[[nodiscard]] std::vector<StageHolds> HoldsOf(const Plan& plan);

/// The bytes on each device of `plan`, whose stages `cuts` makes of `layers`. A stage that two
/// devices share is held by both.
[[nodiscard]] std::vector<double> DeviceBytes(const Plan& plan,
                                              const std::vector<LayerCosts>& layers,
                                              const Cuts& cuts);

}  // namespace millrace::pipeline
