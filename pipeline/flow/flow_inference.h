// Asks a network of optical flow, while it learns, about pictures that it does not learn from.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/stage.h"
#include "pipeline/stages/newest_values.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// A second network of the same layers, on the CPU, which is given the newest values of the one
/// that learns before each question. Thread-safe: one question at a time.
class FlowInference {
 public:
  /// Fails as MakeFlowLearner() does for a network that cannot be opened.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FlowInference>> Open(
      const FlowLearnerOptions& options);

  /// As Learner::Predict(). `learning`: of the options' network. Takes as long as a forward of all
  /// layers, on the thread that calls. Throws what LibTorch throws. REQUIRES: pictures of the
  /// options' size, as many as their task asks for.
  [[nodiscard]] ModelPrediction Predict(const PicturePair& pictures, const StagedNetwork& learning);

 private:
  FlowInference(const FlowLearnerOptions& options, int channels, LayerChain chain);

  // Constant after construction.
  const FlowLearnerOptions options_;
  const int channels_;
  const LayerChain chain_;
  const Stage whole_;

  NewestValues newest_;  // Guards the chain's values.
};

}  // namespace millrace::pipeline
