// Scores a flow before anything learns from its sample, decides whether anything will, and hands
// the prediction over.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/recovery/safe_learning.h"
#include "pipeline/stages/judge.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// What it is made from must outlive it.
class FlowJudge {
 public:
  FlowJudge(const FlowLearnerOptions& options, OnPrediction on_prediction,
            LearningDecisions& decisions, SafeLearning& safe);

  /// As Judge::measure and Judge::decide (judge.h), of the last stage of `network`.
  [[nodiscard]] Measured Measure(const Judgement& made) const;
  [[nodiscard]] bool Decide(const Judgement& made, const Measured& measured,
                            StagedNetwork& network) const;

  /// As Judge::wanted and Judge::measure, of the stages before: judges a coarser flow on the
  /// pictures at its size. Nothing is learned where something spoke against it at the sample's
  /// admission; what the prediction will be worth is not known yet. Thread-safe.
  [[nodiscard]] bool LevelIsWanted(std::int64_t sample) const;
  [[nodiscard]] Measured MeasureLevel(const Judgement& made) const;

 private:
  const FlowLearnerOptions& options_;
  const OnPrediction on_prediction_;
  LearningDecisions& decisions_;
  SafeLearning& safe_;
};

}  // namespace millrace::pipeline
