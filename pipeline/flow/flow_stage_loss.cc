#include "pipeline/flow/flow_stage_loss.h"

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

FlowPredictionLoss::FlowPredictionLoss(const FlowTaskOptions& task, OnPrediction on_prediction,
                                       LearningDecisions& decisions, Recovery& recovery,
                                       std::function<std::int64_t()> updates)
    : task_(task),
      on_prediction_(std::move(on_prediction)),
      decisions_(decisions),
      recovery_(recovery),
      updates_(std::move(updates)) {}

LossValue FlowPredictionLoss::Compute(const StageOutput& output) {
  return MeasureFlow(task_, output.input, output.output);
}

bool FlowPredictionLoss::OnPredicted(const StageOutput& output, const LossValue& value) {
  ModelPrediction prediction = FlowPredictionOf(value.figures);
  prediction.sample = output.sample;
  prediction.updates = updates_();
  prediction.skipped = decisions_.Decide({.sample = output.sample,
                                          .flow = *prediction.flow,
                                          .width = prediction.width,
                                          .height = prediction.height,
                                          .finite = prediction.finite,
                                          .loss = prediction.loss,
                                          .loss_no_motion = prediction.loss_no_motion});
  Recovery::Scored scored{.sample = output.sample,
                          .learned = prediction.skipped == SkipReason::kNone};
  if (SaysSomething(prediction.skipped)) {
    scored.ratio = static_cast<double>(prediction.loss) / prediction.loss_no_motion;
  }
  prediction.drift = recovery_.OnScored(scored);
  on_prediction_(std::move(prediction));
  return scored.learned;
}

bool FlowLevelLoss::MayLearn(std::int64_t sample) {
  if (!decisions_.MayTeach(sample)) return false;
  recovery_.OnLevelLearns();
  return true;
}

LossValue FlowLevelLoss::Compute(const StageOutput& output) {
  const std::int64_t factor = output.input.size(3) / output.output.size(3);
  const at::Tensor pictures = at::avg_pool2d(output.input, {factor, factor});
  return {.objective = LossFor(task_, pictures, output.output).objective};
}

}  // namespace millrace::pipeline
