// Answers requests for a flow while the network learns, on pictures that it does not learn from.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/stage.h"
#include "pipeline/stages/newest_values.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// A second network with the same layers, on the CPU. It gets the learning network's newest values
/// before each request. Thread-safe; serves one request at a time.
class FlowInference {
 public:
  /// Fails as MakeFlowLearner() if the network cannot be opened.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FlowInference>> Open(
      const LearnerOptions& options, const FlowTaskOptions& task);

  /// See Learner::Predict(). `learning` is the options' network. Takes the time of one forward of
  /// all layers, on the calling thread. Throws LibTorch's exceptions. REQUIRES: the pictures have
  /// the options' size and the task's number.
  [[nodiscard]] ModelPrediction Predict(const Sample& pictures, const StagedNetwork& learning);

 private:
  FlowInference(const LearnerOptions& options, const FlowTaskOptions& task, int channels,
                LayerChain chain);

  // Constant after construction.
  const LearnerOptions options_;
  const FlowTaskOptions task_;
  const int channels_;
  const LayerChain chain_;
  const Stage whole_;

  NewestValues newest_;  // Guards the chain's values.
};

}  // namespace millrace::pipeline
