// An evaluation as tables of text.
#pragma once

#include <string>
#include <vector>

#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// One row for every learner and reference: means over the seeds, with their deviation. Further
/// tables follow if there are values: the quality that clients saw at each instant, and the quality
/// of the frozen model. Unknown metrics are left out.
[[nodiscard]] std::string EvaluationTables(const pipeline::FlowEvaluation& evaluation);

/// The evaluation of one line of a list of pairs.
struct EvaluatedPairs {
  std::string name;
  pipeline::FlowEvaluationOptions options;
  pipeline::FlowEvaluation evaluation;
};

/// One row for each line: the end-point error of each learner and reference. With the reference
/// `dis`, also each learner's share of its error. The mean and the largest share end the table.
[[nodiscard]] std::string PairsTable(const std::vector<EvaluatedPairs>& all);

}  // namespace millrace::service
