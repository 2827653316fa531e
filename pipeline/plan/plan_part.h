// The part of a plan that one rank runs. Ranks are processes, on one or several hosts, that learn
// one network together.
//
// Every rank runs the whole plan. A stage that runs on another rank stays in it, but its operations
// here only carry tensors: its forward activations, its backward gradients. So the engine, the
// rings and their counters stay as they are.
//
//   F_s  of a later stage     sends the activations of this rank
//        of an earlier stage  receives its activations
//   B_s  of a later stage     receives its gradients
//        of an earlier stage  sends the gradients of this rank
//   W_s, U_s                  do nothing
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Checks that there is a rank for each stage of `plan`. The ranks fall from stage to stage without
/// a gap, to 0 for the last stage: 1 1 0, or 2 1 0. Rank 0 leads: it has the loss and the
/// predictions. Fails with INVALID_ARGUMENT, saying what is allowed.
[[nodiscard]] absl::Status CheckRanks(const Plan& plan, std::span<const int> rank_of_stage);

/// The plan of `rank`. The devices of its own stages keep their orders. Each stage elsewhere has
/// two devices of its own at the end: one for its forwards, one for the rest. So no transfer waits
/// behind another stage's. Fails as CheckRanks(), and with INVALID_ARGUMENT if no stage has that
/// rank. REQUIRES: CheckPlan(plan) is OK.
[[nodiscard]] absl::StatusOr<Plan> PartOf(const Plan& plan, std::span<const int> rank_of_stage,
                                          int rank);

}  // namespace millrace::pipeline
