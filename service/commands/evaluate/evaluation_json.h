// An evaluation as JSON: every figure of every run, window by window.
#pragma once

#include <string>

#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// Ends with a newline. `command`: what makes it again.
[[nodiscard]] std::string EvaluationJson(const pipeline::FlowEvaluationOptions& options,
                                         const pipeline::FlowEvaluation& evaluation,
                                         const std::string& command);

}  // namespace millrace::service
