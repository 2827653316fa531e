// What the layers of a network that learns from labels cost on this machine: what it is cut by.
#pragma once

#include <functional>
#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_learner_options.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::pipeline {

struct LabelCostOptions {
  /// Steps that are timed, after a few that are not.
  int steps = 7;
  /// As ProfileOptions has it: told of each step.
  std::function<void(int done, int all)> on_step = {};
  /// Gives up between two layers.
  std::stop_token stop = {};
};

/// Builds the network and times each layer on a window of samples, with as many threads as a stage
/// has. A copy costs nothing: threads hand tensors over. Fails as MakeLabelLearner() does, and with
/// CANCELLED once a stop is requested.
[[nodiscard]] absl::StatusOr<NetworkCosts> MeasureLabelNetwork(const LabelLearnerOptions& learner,
                                                               const LabelCostOptions& options);

}  // namespace millrace::pipeline
