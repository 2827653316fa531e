// The data that a plan's stages hold at once, and the bytes of the plan on every device.
#pragma once

#include <vector>

#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

/// The holds of stages 1 to D. A stage holds activations of all samples for its backwards. If it
/// runs forwards again, it holds inputs, and one set of activations.
[[nodiscard]] std::vector<StageHolds> HoldsOf(const Plan& plan);

/// The bytes on each device of `plan`, whose stages are `layers` cut at `cuts`. A stage that two
/// devices share counts on both.
[[nodiscard]] std::vector<double> DeviceBytes(const Plan& plan,
                                              const std::vector<LayerProfile>& layers,
                                              const Cuts& cuts);

}  // namespace millrace::pipeline
