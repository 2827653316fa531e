// Scores a flow before the network learns from its sample, decides whether it will learn, and
// publishes the prediction.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/stages/judge.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// The constructor's arguments must outlive it, except `on_prediction`.
class FlowJudge {
 public:
  FlowJudge(const FlowTaskOptions& task, OnPrediction on_prediction, LearningDecisions& decisions,
            Recovery& recovery);

  /// Judge::measure and Judge::decide (judge.h) for the last stage of `network`.
  [[nodiscard]] Measured Measure(const Judgement& made) const;
  [[nodiscard]] bool Decide(const Judgement& made, const Measured& measured,
                            StagedNetwork& network) const;

  /// Judge::wanted and Judge::measure for the stages before: judges a coarser flow on pictures of
  /// its size. Such a stage does not learn if a reason against the sample was known at its
  /// admission; the prediction's score is not known yet. Thread-safe.
  [[nodiscard]] bool LevelIsWanted(std::int64_t sample) const;
  [[nodiscard]] Measured MeasureLevel(const Judgement& made) const;

 private:
  const FlowTaskOptions& task_;
  const OnPrediction on_prediction_;
  LearningDecisions& decisions_;
  Recovery& recovery_;
};

}  // namespace millrace::pipeline
