// Cuts a network into stages as a plan's request says, or as is best.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// Stages, and the device of each where a schedule reads that.
struct PlanCut {
  pipeline::Cuts cuts;
  std::vector<int> device_of = {};
};

/// The contiguous cut that `request` asks for. `holds`, if not empty, is what the stages hold under
/// the plan, for the limit of memory. Fails with INVALID_ARGUMENT, saying what to ask for instead,
/// or with RESOURCE_EXHAUSTED if memory does not do.
[[nodiscard]] absl::StatusOr<PlanCut> CutForPlan(const pipeline::NetworkCosts& costs,
                                                 const PlanRequest& request,
                                                 const std::vector<pipeline::StageHolds>& holds);

/// Whether `request` leaves it open which layers share a device: schedule interleaved, with neither
/// stages nor a placement.
[[nodiscard]] bool LeavesRunsOpen(const PlanRequest& request);

/// Runs of layers, neighbours or not, spread over the devices. Fails as CutForPlan() does, and with
/// INVALID_ARGUMENT if it finds none but with so many runs that handing over would cost more than
/// it wins. REQUIRES: LeavesRunsOpen(request).
[[nodiscard]] absl::StatusOr<PlanCut> ScatterForPlan(const pipeline::NetworkCosts& costs,
                                                     const PlanRequest& request);

}  // namespace millrace::service
