#include "pipeline/flow/flow_inference.h"

#include <utility>

#include <ATen/core/grad_mode.h>

#include "base/status.h"
#include "pipeline/flow/flow_figures.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/models/named_flow_network.h"

namespace millrace::pipeline {
namespace {

// Its initial weights are replaced before the first request.
LearnerOptions WithoutWeights(LearnerOptions options) {
  options.weights.clear();
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FlowInference>> FlowInference::Open(const LearnerOptions& options,
                                                                   const FlowTaskOptions& task) {
  MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput input, FlowNetworkInputOf(task.network));
  MILLRACE_ASSIGN_OR_RETURN(LayerChain chain, OpenFlowChain(WithoutWeights(options), task));
  return std::unique_ptr<FlowInference>(
      new FlowInference(options, task, input.channels, std::move(chain)));
}

FlowInference::FlowInference(const LearnerOptions& options, const FlowTaskOptions& task,
                             int channels, LayerChain chain)
    : options_(options),
      task_(task),
      channels_(channels),
      chain_(std::move(chain)),
      whole_(WholeChain(chain_)),
      newest_(chain_, options.threads_per_stage) {}

ModelPrediction FlowInference::Predict(const Sample& pictures, const StagedNetwork& learning) {
  const at::NoGradGuard no_graph;
  const at::Tensor planes = PlanesOf(BytesOf(pictures, options_.width, options_.height), channels_);
  ModelPrediction prediction;
  newest_.Ask(learning, [&](std::int64_t updates) {
    const at::Tensor output = whole_.Forward({planes}, options_.seed)[0];
    prediction = FlowPredictionOf(MeasureFlow(task_, planes, output).figures);
    prediction.updates = updates;
  });
  prediction.sample = -1;
  prediction.skipped = SkipReason::kHeld;
  return prediction;
}

}  // namespace millrace::pipeline
