#include "pipeline/flow_judge.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/stack.h>

#include "pipeline/finite.h"
#include "pipeline/flow_pictures.h"
#include "pipeline/flow_task.h"

namespace millrace::pipeline {

namespace {

// Still pictures and cuts say nothing of the camera, and weights that went wrong neither.
bool SaysSomething(SkipReason skipped) {
  return skipped == SkipReason::kNone || skipped == SkipReason::kRate ||
         skipped == SkipReason::kPolicy;
}

}  // namespace

FlowJudge::FlowJudge(const FlowLearnerOptions& options, OnPrediction on_prediction,
                     LearningDecisions& decisions, SafeLearning& safe)
    : options_(options),
      on_prediction_(std::move(on_prediction)),
      decisions_(decisions),
      safe_(safe) {}

bool FlowJudge::LevelIsWanted(std::int64_t sample) const {
  if (!decisions_.MayTeach(sample)) return false;
  safe_.OnLevelLearns();
  return true;
}

Measured FlowJudge::MeasureLevel(const Judgement& made) const {
  const std::int64_t factor = made.input.size(3) / made.output.size(3);
  const at::Tensor pictures = at::avg_pool2d(made.input, {factor, factor});
  return {.objective = LossFor(options_, pictures, made.output).objective};
}

// The figures: one tensor of those that the loss names, the last of which says whether the output
// is all numbers; and the flow for people.
Measured FlowJudge::Measure(const Judgement& made) const {
  const FlowLoss loss = LossFor(options_, made.input, made.output);
  std::vector<at::Tensor> figures = {loss.photometric, loss.no_motion};
  for (const FlowLoss::Term& term : loss.terms) figures.push_back(term.value);
  figures.push_back(FiniteFlag(made.output).to(loss.photometric.scalar_type()));
  return {.objective = loss.objective,
          .figures = {at::stack(figures), PixelByPixel(PredictedFlow(options_, made.output))}};
}

bool FlowJudge::Decide(const Judgement& made, const Measured& measured,
                       StagedNetwork& network) const {
  std::vector<std::vector<float>> on_host = OnHost(measured.figures);
  const std::vector<float>& figures = on_host[0];
  ModelPrediction prediction{
      .sample = made.sample,
      .width = options_.width,
      .height = options_.height,
      .flow = std::make_shared<const std::vector<float>>(std::move(on_host[1])),
      .loss = figures[0],
      .loss_no_motion = figures[1],
      .updates = network.updates().back()};
  prediction.terms.assign(figures.begin() + 2, figures.end() - 1);
  prediction.finite = std::isfinite(prediction.loss) && std::isfinite(prediction.loss_no_motion) &&
                      figures.back() != 0;
  prediction.skipped = decisions_.Decide({.sample = made.sample,
                                          .flow = *prediction.flow,
                                          .width = options_.width,
                                          .height = options_.height,
                                          .finite = prediction.finite,
                                          .loss = prediction.loss,
                                          .loss_no_motion = prediction.loss_no_motion});
  SafeLearning::Judged judged{.sample = made.sample,
                              .learned = prediction.skipped == SkipReason::kNone};
  if (SaysSomething(prediction.skipped)) {
    judged.ratio = static_cast<double>(prediction.loss) / prediction.loss_no_motion;
  }
  prediction.drift = safe_.OnJudged(judged, network);
  on_prediction_(std::move(prediction));
  return judged.learned;
}

}  // namespace millrace::pipeline
