// Cuts a network into stages, as requested or in the best way.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// The stages, and each stage's device if the schedule uses that.
struct PlanCut {
  pipeline::Cuts cuts;
  std::vector<int> device_of = {};
};

/// The contiguous cut for `request`. `holds`, if not empty, is the number of samples that each
/// stage holds under the plan, for the memory limit. Fails with INVALID_ARGUMENT and a remedy, or
/// with RESOURCE_EXHAUSTED if the memory is too small.
[[nodiscard]] absl::StatusOr<PlanCut> CutForPlan(const pipeline::NetworkProfile& costs,
                                                 const PlanRequest& request,
                                                 const std::vector<pipeline::StageHolds>& holds);

/// Whether `request` leaves the device of each run of layers open: schedule interleaved, without
/// stages and placement.
[[nodiscard]] bool LeavesRunsOpen(const PlanRequest& request);

/// Runs of layers spread over the devices, neighbours or not. Fails as CutForPlan() does. Also
/// fails with INVALID_ARGUMENT if every solution has too many runs: their copies cost more than
/// they gain. REQUIRES: LeavesRunsOpen(request).
[[nodiscard]] absl::StatusOr<PlanCut> ScatterForPlan(const pipeline::NetworkProfile& costs,
                                                     const PlanRequest& request);

}  // namespace millrace::service
