// Small networks that learn classes or values, as chains of layers that can be cut anywhere.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/network_with_state.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

/// The task's description in a checkpoint: "classification of 'shut', 'open'".
[[nodiscard]] std::string TaskInWords(const LabelTaskOptions& task);

/// The bytes of the layers of the options' network for a window of samples, computed from its
/// description. INVALID_ARGUMENT as OpenLabelNetwork(). REQUIRES: no `model`.
[[nodiscard]] absl::StatusOr<std::vector<LayerProfile>> DescribeLabelNetwork(
    const LearnerOptions& options, const LabelTaskOptions& task);

/// The network that the options name: a user's or a built-in one. Each call makes a new one with
/// the same weights. Fails with INVALID_ARGUMENT or NOT_FOUND, with the allowed values, and as
/// LoadWeights(). Fails with CANCELLED once `stop` is requested, between two layers.
[[nodiscard]] absl::StatusOr<NetworkWithState> OpenLabelNetwork(const LearnerOptions& options,
                                                                const LabelTaskOptions& task,
                                                                const std::stop_token& stop = {});

}  // namespace millrace::pipeline
