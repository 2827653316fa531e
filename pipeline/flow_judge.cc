#include "pipeline/flow_judge.h"

#include <cmath>
#include <utility>

#include <ATen/ops/avg_pool2d.h>

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

at::Tensor FlowJudge::Judge(const Judgement& made, StagedNetwork& network) const {
  const FlowLoss loss = LossFor(options_, made.input, made.output);
  const auto if_learned = [&](SkipReason skipped) {
    return skipped == SkipReason::kNone ? loss.objective : at::Tensor();
  };
  if (made.again) return if_learned(decisions_.Decided(made.sample));
  ModelPrediction prediction{.sample = made.sample,
                             .width = options_.width,
                             .height = options_.height,
                             .flow = Interleaved(PredictedFlow(options_, made.output)),
                             .loss = loss.photometric.item<float>(),
                             .loss_no_motion = loss.no_motion.item<float>(),
                             .updates = network.updates().back()};
  for (const FlowLoss::Term& term : loss.terms) {
    prediction.terms.push_back(term.value.item<float>());
  }
  prediction.finite = std::isfinite(prediction.loss) && std::isfinite(prediction.loss_no_motion) &&
                      AllFinite(made.output);
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
  const SkipReason skipped = prediction.skipped;
  on_prediction_(std::move(prediction));
  return if_learned(skipped);
}

at::Tensor FlowJudge::JudgeLevel(std::int64_t sample, const at::Tensor& pictures,
                                 const at::Tensor& flow) const {
  if (!decisions_.MayTeach(sample)) return {};
  safe_.OnLevelLearns();
  const std::int64_t factor = pictures.size(3) / flow.size(3);
  return LossFor(options_, at::avg_pool2d(pictures, {factor, factor}), flow).objective;
}

}  // namespace millrace::pipeline
