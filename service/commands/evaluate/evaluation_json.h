// An evaluation as JSON: every metric of every run, window by window.
#pragma once

#include <string>
#include <vector>

#include "pipeline/comparison/flow_evaluation.h"
#include "service/commands/evaluate/evaluation_table.h"

namespace millrace::service {

/// The result ends with a newline. `command`: the command line that reproduces the evaluation.
[[nodiscard]] std::string EvaluationJson(const pipeline::FlowEvaluationOptions& options,
                                         const pipeline::FlowEvaluation& evaluation,
                                         const std::string& command);

/// The evaluations of all lines, as `lines`, each with its `name`.
[[nodiscard]] std::string PairsJson(const std::vector<EvaluatedPairs>& all,
                                    const std::string& command);

}  // namespace millrace::service
