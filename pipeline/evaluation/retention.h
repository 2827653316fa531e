// What a learner forgot by learning on, and what of it carries over to other streams.
//
// Both stand beside the same tests by other weights: those right after the old part was learned
// from, and those that nothing had been learned with. With the loss ratio in place of accuracies
// these are, turned so that more is more of what they are called, backward and forward transfer of
// Lopez-Paz and Ranzato, "Gradient episodic memory for continual learning", NIPS 2017.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/flow_run.h"

namespace millrace::pipeline {

/// RunFlow(), with `initial` of every frozen test and, unless the clip is no longer than a window,
/// `right_after` of the first part of the run's own clip. These are the scores of learners of their
/// own, made as the run's was: one learns from nothing, one from the first window alone. A test
/// in the middle of the run would move the samples that the run learns from to other places of its
/// pipeline, and with them what it learns.
[[nodiscard]] absl::StatusOr<FlowRunResult> RunFlowAndCompare(const FlowRunOptions& options);

/// The loss ratio at the end less that right after the part was learned from: above 0 the model has
/// forgotten, below it has become better at the old by learning the new.
[[nodiscard]] std::optional<double> Forgetting(const FlowRunResult::Frozen& test);

/// The loss ratio that it began with less that at the end, on a stream that it did not learn from:
/// above 0 what was learned helps there, below it harms.
[[nodiscard]] std::optional<double> Transfer(const FlowRunResult::Frozen& test);

}  // namespace millrace::pipeline
