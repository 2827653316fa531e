// The losses of a flow network's stages: of its predictions, and of the coarser flows of stages
// before.
#pragma once

#include <cstdint>

#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/recovery/safe_learning.h"
#include "pipeline/stages/loss.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// The last stage's loss: scores a flow before the network learns from its sample, decides whether
/// it learns, and publishes the prediction.
class FlowPredictionLoss final : public Loss {
 public:
  /// `options` must outlive it.
  FlowPredictionLoss(const FlowLearnerOptions& options, OnPrediction on_prediction);

  /// Call it before the first sample. The arguments must outlive this object's last call.
  void Attach(StagedNetwork& network, LearningDecisions& decisions, SafeLearning& safe);

  [[nodiscard]] LossValue Compute(const StageOutput& output) override;
  [[nodiscard]] bool OnPredicted(const StageOutput& output, const LossValue& value) override;
  [[nodiscard]] bool capturable() const override { return true; }

 private:
  const FlowLearnerOptions& options_;
  const OnPrediction on_prediction_;
  StagedNetwork* network_ = nullptr;
  LearningDecisions* decisions_ = nullptr;
  SafeLearning* safe_ = nullptr;
};

/// The loss of a stage before the last: compares its coarser flow with pictures of that size. Such
/// a stage does not learn if a reason against the sample was known at its admission; the
/// prediction's score is not known yet. Thread-safe.
class FlowLevelLoss final : public Loss {
 public:
  /// `options` must outlive it.
  explicit FlowLevelLoss(const FlowLearnerOptions& options) : options_(options) {}

  /// As FlowPredictionLoss::Attach().
  void Attach(LearningDecisions& decisions, SafeLearning& safe);

  [[nodiscard]] bool MayLearn(std::int64_t sample) override;
  [[nodiscard]] LossValue Compute(const StageOutput& output) override;
  [[nodiscard]] bool capturable() const override { return true; }

 private:
  const FlowLearnerOptions& options_;
  LearningDecisions* decisions_ = nullptr;
  SafeLearning* safe_ = nullptr;
};

}  // namespace millrace::pipeline
