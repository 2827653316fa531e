// The configured network of optical flow, and its cost on this machine before it learns.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

/// Gives the prior up to four threads if all devices are GPUs, because the cores are free then.
/// Only the first call in a process has an effect (PriorFlow::SetThreads()). `devices`: in the form
/// of FindDevices().
void SetPriorThreads(const std::vector<std::string>& devices);

struct ProfiledFlow {
  LayerChain chain;
  NetworkProfile costs;
};

/// The network that the options name, with their weights. Fails as MakeFlowLearner() for bad
/// weights. REQUIRES: MakeFlowLearner() accepts the size.
[[nodiscard]] absl::StatusOr<LayerChain> OpenFlowChain(const LearnerOptions& options,
                                                       const FlowTaskOptions& task);

/// Builds the network with its weights and times `runs` samples of noise on the calling thread.
/// Sets that thread's LibTorch threads to options.threads_per_stage. `on_sample`: see
/// ProfileOptions. Fails as MakeFlowLearner() for bad weights, and with CANCELLED once `stop` is
/// requested. REQUIRES: MakeFlowLearner() accepts the size; runs > 0.
[[nodiscard]] absl::StatusOr<ProfiledFlow> ProfileFlow(
    const LearnerOptions& options, const FlowTaskOptions& task, int runs,
    const std::stop_token& stop = {}, std::function<void(int done, int all)> on_sample = {});

}  // namespace millrace::pipeline
