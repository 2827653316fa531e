// Measures forgetting while a learner learns on, and transfer of its knowledge to other streams.
//
// Both compare a test with the same test on other weights: the weights right after the old part,
// and untrained weights. They are backward and forward transfer (Lopez-Paz and Ranzato, "Gradient
// episodic memory for continual learning", NIPS 2017). The loss ratio replaces the accuracy. The
// signs are turned so that more forgetting, or more transfer, is a larger number.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/flow_run.h"

namespace millrace::pipeline {

/// RunFlow(), with `initial` of every frozen test. Adds `right_after` of the first part of the
/// run's own clip, unless the clip is no longer than a window. Separate learners, made like the
/// run's, give these scores: one learns nothing, one learns only the first window. A test in the
/// middle of the run would shift the run's samples in its pipeline, and so change its learning.
[[nodiscard]] absl::StatusOr<FlowRunResult> RunFlowAndCompare(const FlowRunOptions& options);

/// The loss ratio at the end minus the ratio right after the part was learned. Above 0, the model
/// has forgotten. Below 0, it has become better at the old part by learning the new.
[[nodiscard]] std::optional<double> Forgetting(const FlowRunResult::Frozen& test);

/// The initial loss ratio minus the final one, on a stream that it did not learn. Above 0, learning
/// helps there; below 0, it harms.
[[nodiscard]] std::optional<double> Transfer(const FlowRunResult::Frozen& test);

}  // namespace millrace::pipeline
