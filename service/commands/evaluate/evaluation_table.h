// An evaluation as tables of text.
#pragma once

#include <string>

#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// One row for every learner and reference: means over the seeds, with their deviation. Further
/// tables follow if there are values: the quality that clients saw at each instant, and the quality
/// of the frozen model. Unknown metrics are left out.
[[nodiscard]] std::string EvaluationTables(const pipeline::FlowEvaluation& evaluation);

}  // namespace millrace::service
