#include "pipeline/flow_profile.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>

#include "base/status.h"
#include "pipeline/cost_profile.h"
#include "pipeline/flow_loss.h"
#include "pipeline/flow_network.h"
#include "pipeline/weights_file.h"

namespace millrace::pipeline {

absl::StatusOr<ProfiledFlow> ProfileFlow(const FlowLearnerOptions& options, int runs) {
  ProfiledFlow flow{.chain = MakeFlowNetwork({.seed = options.seed}), .costs = {}};
  if (!options.weights.empty()) {
    MILLRACE_RETURN_IF_ERROR(LoadWeights(options.weights, flow.chain));
  }
  at::set_num_threads(options.threads_per_stage);
  const at::Tensor input = at::rand({2, 1, options.height, options.width},
                                    at::make_generator<at::CPUGeneratorImpl>(options.seed));
  flow.costs = ProfileLayers(flow.chain, input,
                             [&](const at::Tensor& output) {
                               return ComputeFlowLoss(input, output, options.smoothness).objective;
                             },
                             {.runs = runs, .stop = options.stop});
  if (options.stop.stop_requested()) {
    return absl::CancelledError("stopped while the layers were measured");
  }
  return flow;
}

}  // namespace millrace::pipeline
