// Small networks to learn classes or values by, as chains of layers that can be cut anywhere.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_learner_options.h"
#include "pipeline/nn/opened_network.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::pipeline {

/// What is learned, as a checkpoint says it: "classification of 'shut', 'open'".
[[nodiscard]] std::string TaskInWords(const LabelLearnerOptions& options);

/// The bytes that the layers of the network that the options name take for a window of samples, by
/// their description alone. INVALID_ARGUMENT as OpenLabelNetwork(). REQUIRES: no `model`.
[[nodiscard]] absl::StatusOr<std::vector<LayerCosts>> DescribeLabelNetwork(
    const LabelLearnerOptions& options);

/// The network that the options name: a user's or a built-in one. Each call makes a new one, with
/// the same weights. INVALID_ARGUMENT or NOT_FOUND, saying what is allowed, and as LoadWeights().
[[nodiscard]] absl::StatusOr<OpenedNetwork> OpenLabelNetwork(const LabelLearnerOptions& options);

}  // namespace millrace::pipeline
