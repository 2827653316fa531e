// The learner of optical flow behind the interface that the service knows (learner.h). Free of
// LibTorch.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"

namespace millrace::pipeline {

/// Builds the network, measures its layers, cuts it, checks the plan, goes on from the newest
/// checkpoint, if it is to keep some and there are, and starts the workers. Takes
/// a few seconds. Fails with INVALID_ARGUMENT on a bad option, NOT_FOUND or DATA_LOSS on a bad
/// weight file, FAILED_PRECONDITION where the checkpoints are of another network or in use, each
/// saying what to do, and CANCELLED once `stop` is requested.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Learner>> MakeFlowLearner(
    const FlowLearnerOptions& options, OnPrediction on_prediction);

}  // namespace millrace::pipeline
