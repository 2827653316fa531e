// The learner of optical flow behind the service's interface (learner.h). Free of LibTorch.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// Builds the network, measures its layers, cuts it, checks the plan, resumes from the newest
/// checkpoint if there is one, and starts the workers. Takes a few seconds. Fails with
/// INVALID_ARGUMENT on a bad option, and NOT_FOUND or DATA_LOSS on a bad weight file. Fails with
/// FAILED_PRECONDITION if the checkpoints belong to another network or are in use. Each message
/// says what to do. Fails with CANCELLED once `hooks.stop` is requested.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Learner>> MakeFlowLearner(
    const LearnerOptions& options, const FlowTaskOptions& task, OnPrediction on_prediction,
    const LearnerHooks& hooks = {});

}  // namespace millrace::pipeline
