#include "pipeline/flow/flow_judge.h"

#include <utility>

#include <ATen/ops/avg_pool2d.h>

#include "pipeline/flow/flow_figures.h"
#include "pipeline/flow/flow_task.h"

namespace millrace::pipeline {

namespace {

// Still pictures, cuts and diverged weights say nothing about the camera.
bool SaysSomething(SkipReason skipped) {
  return skipped == SkipReason::kNone || skipped == SkipReason::kRate ||
         skipped == SkipReason::kPolicy;
}

}  // namespace

FlowJudge::FlowJudge(const FlowTaskOptions& task, OnPrediction on_prediction,
                     LearningDecisions& decisions, Recovery& recovery)
    : task_(task),
      on_prediction_(std::move(on_prediction)),
      decisions_(decisions),
      recovery_(recovery) {}

bool FlowJudge::LevelIsWanted(std::int64_t sample) const {
  if (!decisions_.MayTeach(sample)) return false;
  recovery_.OnLevelLearns();
  return true;
}

Measured FlowJudge::MeasureLevel(const Judgement& made) const {
  const std::int64_t factor = made.input.size(3) / made.output.size(3);
  const at::Tensor pictures = at::avg_pool2d(made.input, {factor, factor});
  return {.objective = LossFor(task_, pictures, made.output).objective};
}

Measured FlowJudge::Measure(const Judgement& made) const {
  return MeasureFlow(task_, made.input, made.output);
}

bool FlowJudge::Decide(const Judgement& made, const Measured& measured,
                       StagedNetwork& network) const {
  ModelPrediction prediction = FlowPredictionOf(measured.figures);
  prediction.sample = made.sample;
  prediction.updates = network.updates().back();
  prediction.skipped = decisions_.Decide({.sample = made.sample,
                                          .flow = *prediction.flow,
                                          .width = prediction.width,
                                          .height = prediction.height,
                                          .finite = prediction.finite,
                                          .loss = prediction.loss,
                                          .loss_no_motion = prediction.loss_no_motion});
  Recovery::Scored scored{.sample = made.sample,
                          .learned = prediction.skipped == SkipReason::kNone};
  if (SaysSomething(prediction.skipped)) {
    scored.ratio = static_cast<double>(prediction.loss) / prediction.loss_no_motion;
  }
  prediction.drift = recovery_.OnScored(scored);
  on_prediction_(std::move(prediction));
  return scored.learned;
}

}  // namespace millrace::pipeline
