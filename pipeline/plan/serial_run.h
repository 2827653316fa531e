// Runs a plan on one thread in the simplest way: the oracle that the engine must equal.
//
// It uses no counters and no slots. It keeps the set of completed operations, and checks for each
// device in turn whether all inputs of the next operation exist.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Calls `run` for every operation that runs in a stream of `samples` samples, in an order that
/// keeps each device's own. It waits for no room: the buffers of `run` must hold all samples that
/// are ahead, or data may be overwritten before it is read. REQUIRES: CheckPlan(plan) is OK.
void RunSerially(const Plan& plan, std::int64_t samples, absl::FunctionRef<void(const Step&)> run);

}  // namespace millrace::pipeline
