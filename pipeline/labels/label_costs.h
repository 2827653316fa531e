// Measures the layers of a network that learns from labels on this machine, so that it can be cut.
#pragma once

#include <functional>
#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

struct LabelCostOptions {
  /// Steps that are timed, after a few warm-up steps.
  int steps = 7;
  /// Called after each step; see ProfileOptions.
  std::function<void(int done, int all)> on_step = {};
  /// A stop request ends the measurement between two layers.
  std::stop_token stop = {};
};

/// Builds the network and times each layer on a window of samples, with the threads of one stage. A
/// copy costs nothing, because threads pass tensors without one. Fails as OpenLabelNetwork(), and
/// with CANCELLED once a stop is requested.
[[nodiscard]] absl::StatusOr<NetworkProfile> MeasureLabelNetwork(const LearnerOptions& learner,
                                                                 const LabelTaskOptions& task,
                                                                 const LabelCostOptions& options);

}  // namespace millrace::pipeline
