// Cuts a network into stages as a plan's request says, or as is best.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/partition.h"
#include "service/plan_request.h"

namespace millrace::service {

/// Stages, and the device of each where a schedule reads that.
struct PlanCut {
  pipeline::Cuts cuts;
  std::vector<int> device_of = {};
  /// Of layers that need not be contiguous: no partition is faster than this.
  std::optional<double> bound_ms = {};
};

/// The cut that `request` asks for. `holds`, if not empty, is what the stages hold under the plan,
/// for the limit of memory. Fails with INVALID_ARGUMENT, saying what to ask for instead, or with
/// RESOURCE_EXHAUSTED if memory does not do.
[[nodiscard]] absl::StatusOr<PlanCut> CutForPlan(const pipeline::NetworkCosts& costs,
                                                 const PlanRequest& request,
                                                 const std::vector<pipeline::StageHolds>& holds);

}  // namespace millrace::service
