// Runs a plan on one thread, in the plainest way there is: the oracle that the engine must equal.
//
// It knows no counters and no slots. It looks at what has been done, as a set of operations, and
// asks of the next operation of each device in turn whether all that it reads has been made.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// `plan` with room for `samples` samples in every channel and stage, and for as many versions of
/// the weights, so that nothing ever waits for room.
[[nodiscard]] Plan WithoutBounds(Plan plan, int samples);

/// Calls `run` for every operation that exists in a stream of `samples` samples, in an order that
/// keeps each device's own. Nothing is overwritten before it is read only if the buffers behind
/// `run` are those of WithoutBounds(). REQUIRES: CheckPlan(plan) is OK.
void RunSerially(const Plan& plan, std::int64_t samples, absl::FunctionRef<void(const Step&)> run);

}  // namespace millrace::pipeline
