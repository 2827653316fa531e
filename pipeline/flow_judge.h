// Scores a flow before anything learns from its sample, decides whether anything will, and hands
// the prediction over.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "pipeline/judge.h"
#include "pipeline/learner.h"
#include "pipeline/learning/learning_decisions.h"
#include "pipeline/safe_learning.h"
#include "pipeline/staged_network.h"

namespace millrace::pipeline {

/// Judge() is for the last stage's thread. What it is made from must outlive it.
class FlowJudge {
 public:
  FlowJudge(const FlowLearnerOptions& options, OnPrediction on_prediction,
            LearningDecisions& decisions, SafeLearning& safe);

  /// As Judge (judge.h).
  [[nodiscard]] at::Tensor Judge(const Judgement& made, StagedNetwork& network) const;

  /// As LocalObjective (judge.h): judges a coarser flow on the pictures at its size. Nothing is
  /// learned where something spoke against it at the sample's admission; what the prediction will
  /// be worth is not known yet. Thread-safe.
  [[nodiscard]] at::Tensor JudgeLevel(std::int64_t sample, const at::Tensor& pictures,
                                      const at::Tensor& flow) const;

 private:
  const FlowLearnerOptions& options_;
  const OnPrediction on_prediction_;
  LearningDecisions& decisions_;
  SafeLearning& safe_;
};

}  // namespace millrace::pipeline
