// Checks the options of the learner of optical flow.
#pragma once

#include "absl/status/status.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// INVALID_ARGUMENT, with the allowed values, if an option is out of range or contradicts another
/// one. Does not check whether a schedule or a weight file of that name exists.
[[nodiscard]] absl::Status CheckFlowOptions(const LearnerOptions& options,
                                            const FlowTaskOptions& task);

}  // namespace millrace::pipeline
