// The losses of a flow network's stages: of its predictions, and of the coarser flows of stages
// before.
#pragma once

#include <cstdint>
#include <functional>

#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/stages/loss.h"

namespace millrace::pipeline {

/// The last stage's loss: scores a flow before the network learns from its sample, decides whether
/// it learns, and publishes the prediction.
class FlowPredictionLoss final : public Loss {
 public:
  /// `updates`: the last stage's update count, read at each prediction. The references must outlive
  /// this object.
  FlowPredictionLoss(const FlowTaskOptions& task, OnPrediction on_prediction,
                     LearningDecisions& decisions, Recovery& recovery,
                     std::function<std::int64_t()> updates);

  [[nodiscard]] LossValue Compute(const StageOutput& output) override;
  [[nodiscard]] bool OnPredicted(const StageOutput& output, const LossValue& value) override;
  [[nodiscard]] bool capturable() const override { return true; }

 private:
  const FlowTaskOptions& task_;
  const OnPrediction on_prediction_;
  LearningDecisions& decisions_;
  Recovery& recovery_;
  const std::function<std::int64_t()> updates_;
};

/// The loss of a stage before the last: compares its coarser flow with pictures of that size. Such
/// a stage does not learn if a reason against the sample was known at its admission; the
/// prediction's score is not known yet. Thread-safe.
class FlowLevelLoss final : public Loss {
 public:
  /// The arguments must outlive it.
  FlowLevelLoss(const FlowTaskOptions& task, LearningDecisions& decisions, Recovery& recovery)
      : task_(task), decisions_(decisions), recovery_(recovery) {}

  [[nodiscard]] bool MayLearn(std::int64_t sample) override;
  [[nodiscard]] LossValue Compute(const StageOutput& output) override;
  [[nodiscard]] bool capturable() const override { return true; }

 private:
  const FlowTaskOptions& task_;
  LearningDecisions& decisions_;
  Recovery& recovery_;
};

}  // namespace millrace::pipeline
