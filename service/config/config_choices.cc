#include "service/config/config_choices.h"

#include <algorithm>
#include <string>

#include "base/usable_cores.h"
#include "pipeline/learner/flow_network_names.h"
#include "service/config/warm_start.h"

namespace millrace::service {
namespace {

/// No weight that a file can set.
constexpr double kOpenSmoothness = -1;

/// The default limit of stages for the kind auto.
int MaxStagesHere() {
  constexpr int kMax = 4;
  return std::clamp(static_cast<int>(UsableCores()), 1, kMax);
}

/// Whether a key is set that the kind auto does not support. Then the author means another kind.
/// Streams of labels ignore devices.
bool MeansStar(const StreamConfig& stream) {
  const pipeline::LearnerOptions& learner = stream.learner;
  return !learner.cuts.empty() || learner.request.period > 0 ||
         (!IsOfLabels(stream.task) && learner.devices.size() > 1);
}

}  // namespace

void LeaveOpen(StreamConfig& defaults) {
  defaults.learner.schedule.clear();
  defaults.learner.stages = 0;
  defaults.flow.loss.smoothness = kOpenSmoothness;
  defaults.source.camera.isolate = true;
}

void ChooseKind(StreamConfig& stream) {
  std::string& kind = stream.learner.schedule;
  if (!kind.empty()) return;
  kind = MeansStar(stream) ? "one_f_one_b_star" : "auto";
}

void ChooseStages(StreamConfig& stream) {
  pipeline::LearnerOptions& learner = stream.learner;
  stream.stages_are_set = learner.stages > 0;
  if (stream.stages_are_set) return;
  const auto cuts = static_cast<int>(learner.cuts.size());
  const auto placed = static_cast<int>(learner.request.device_of.size());
  if (learner.schedule == "auto") {
    learner.stages = MaxStagesHere();
  } else if (cuts > 0) {
    learner.stages = cuts + 1;
  } else {
    learner.stages = placed > 0 ? placed : kUsualStages;
  }
}

void ChooseSmoothness(StreamConfig& stream) {
  double& smoothness = stream.flow.loss.smoothness;
  if (smoothness == kOpenSmoothness) smoothness = pipeline::UsualSmoothness(stream.flow.network);
}

void ChooseWeights(StreamConfig& stream) {
  std::string& weights = stream.learner.weights;
  if (weights == kNoWeights) {
    weights.clear();
  } else if (weights.empty() && !IsOfLabels(stream.task)) {
    weights = WarmStartWeights(stream.flow.network);
  }
}

}  // namespace millrace::service
