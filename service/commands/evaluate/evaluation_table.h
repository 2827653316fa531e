// An evaluation as tables of text.
#pragma once

#include <string>

#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// A row for every learner and reference, means over the seeds with their deviation; then, as far
/// as there are any, what clients had at each instant and what was still known without learning.
/// Figures that nobody knows are left out.
[[nodiscard]] std::string EvaluationTables(const pipeline::FlowEvaluation& evaluation);

}  // namespace millrace::service
