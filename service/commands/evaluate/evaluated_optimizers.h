// The optimizers that `millrace evaluate flow --optimizers` compares.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// The optimizers with these texts, NAME or NAME:LEARNING_RATE; empty without texts. `common`: the
/// other options. Those of sgd alone are for sgd. Fails with INVALID_ARGUMENT, naming the text, or
/// if `common` does not fit.
[[nodiscard]] absl::StatusOr<std::vector<pipeline::FlowEvaluationOptions::NamedOptimizer>>
EvaluatedOptimizers(const std::vector<std::string>& texts,
                    const pipeline::OptimizerOptions& common);

}  // namespace millrace::service
