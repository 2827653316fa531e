// What can be asked of the learner of optical flow.
#pragma once

#include "absl/status/status.h"
#include "pipeline/learner/flow_learner_options.h"

namespace millrace::pipeline {

/// INVALID_ARGUMENT, saying what is allowed, if an option is out of range or does not go with the
/// others. Whether a schedule or weights of that name exist is for those who look for them.
[[nodiscard]] absl::Status CheckFlowOptions(const FlowLearnerOptions& options);

}  // namespace millrace::pipeline
