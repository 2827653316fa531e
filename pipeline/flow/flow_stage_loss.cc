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

FlowPredictionLoss::FlowPredictionLoss(const FlowLearnerOptions& options,
                                       OnPrediction on_prediction)
    : options_(options), on_prediction_(std::move(on_prediction)) {}

void FlowPredictionLoss::Attach(StagedNetwork& network, LearningDecisions& decisions,
                                SafeLearning& safe) {
  network_ = &network;
  decisions_ = &decisions;
  safe_ = &safe;
}

LossValue FlowPredictionLoss::Compute(const StageOutput& output) {
  return MeasureFlow(options_, output.input, output.output);
}

bool FlowPredictionLoss::OnPredicted(const StageOutput& output, const LossValue& value) {
  ModelPrediction prediction = FlowPredictionOf(options_, value.figures);
  prediction.sample = output.sample;
  prediction.updates = network_->updates().back();
  prediction.skipped = decisions_->Decide({.sample = output.sample,
                                           .flow = *prediction.flow,
                                           .width = options_.width,
                                           .height = options_.height,
                                           .finite = prediction.finite,
                                           .loss = prediction.loss,
                                           .loss_no_motion = prediction.loss_no_motion});
  SafeLearning::Judged judged{.sample = output.sample,
                              .learned = prediction.skipped == SkipReason::kNone};
  if (SaysSomething(prediction.skipped)) {
    judged.ratio = static_cast<double>(prediction.loss) / prediction.loss_no_motion;
  }
  prediction.drift = safe_->OnJudged(judged, *network_);
  on_prediction_(std::move(prediction));
  return judged.learned;
}

void FlowLevelLoss::Attach(LearningDecisions& decisions, SafeLearning& safe) {
  decisions_ = &decisions;
  safe_ = &safe;
}

bool FlowLevelLoss::MayLearn(std::int64_t sample) {
  if (!decisions_->MayTeach(sample)) return false;
  safe_->OnLevelLearns();
  return true;
}

LossValue FlowLevelLoss::Compute(const StageOutput& output) {
  const std::int64_t factor = output.input.size(3) / output.output.size(3);
  const at::Tensor pictures = at::avg_pool2d(output.input, {factor, factor});
  return {.objective = LossFor(options_, pictures, output.output).objective};
}

}  // namespace millrace::pipeline
