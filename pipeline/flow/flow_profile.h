// The network of optical flow as it is configured, and what it costs here: before any of it learns.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::pipeline {

struct ProfiledFlow {
  LayerChain chain;
  NetworkCosts costs;
};

/// The network that the options name, with their weights. Fails as MakeFlowLearner() does for bad
/// ones. REQUIRES: the size is one that MakeFlowLearner() accepts.
[[nodiscard]] absl::StatusOr<LayerChain> OpenFlowChain(const FlowLearnerOptions& options);

/// Builds the network with its weights and times `runs` samples of noise on the calling thread,
/// which then has options.threads_per_stage of LibTorch's threads. Fails as MakeFlowLearner() does
/// for bad weights, and with CANCELLED once options.stop is requested. `on_sample`: as
/// ProfileOptions'. REQUIRES: the size is one that MakeFlowLearner() accepts; runs > 0.
[[nodiscard]] absl::StatusOr<ProfiledFlow> ProfileFlow(
    const FlowLearnerOptions& options, int runs,
    std::function<void(int done, int all)> on_sample = {});

}  // namespace millrace::pipeline
