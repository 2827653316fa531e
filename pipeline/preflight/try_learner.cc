#include "pipeline/preflight/try_learner.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "base/foreign_error.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/labels/label_learner.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/planner/partition.h"
#include "pipeline/recovery/checkpoints.h"
#include "pipeline/recovery/lasting_learning.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

using Problems = std::vector<LearnerProblem>;

/// Adds the failure of `look` as a problem of `part`. Returns whether there was no failure.
bool Holds(LearnerPart part, const std::function<absl::Status()>& look, Problems& problems) {
  absl::Status status;
  try {
    status = look();
  } catch (const std::exception& e) {
    status = absl::InternalError(CauseLine(e.what()));
  }
  if (!status.ok()) problems.push_back({part, status});
  return status.ok();
}

// Assumes equal costs of all layers: the best cuts would need measurements.
absl::StatusOr<Cuts> AnyCuts(int layers, int stages) {
  return BestCuts(std::vector<StageCost>(layers, {.forward = 1, .backward = 2}), stages);
}

struct WantedStages {
  int stages = 1;
  Cuts cuts;
  std::string schedule;
  ScheduleRequest request;
};

// Ignores the period, because it depends on measured costs.
void TryCut(const WantedStages& wanted, const LayerChain& chain, Problems& problems) {
  const int layers = static_cast<int>(chain.layers.size());
  Cuts cuts = wanted.cuts;
  if (!cuts.empty()) {
    if (!Holds(
            LearnerPart::kCuts, [&] { return CheckCuts(cuts, layers); }, problems))
      return;
  } else {
    const auto cut = [&]() -> absl::Status {
      MILLRACE_ASSIGN_OR_RETURN(cuts, AnyCuts(layers, wanted.stages));
      return absl::OkStatus();
    };
    if (!Holds(LearnerPart::kStages, cut, problems)) return;
  }
  ScheduleRequest request = wanted.request;
  request.shape = ShapeOf(chain, cuts);
  request.costs.assign(cuts.size() + 1, {.forward = 1, .backward = 2, .update = 0});
  request.period = 0;
  Holds(
      LearnerPart::kSchedule, [&] { return MakePhases(wanted.schedule, request).status(); },
      problems);
}

void TryCheckpoints(const LastingLearning::Options& lasting, const LayerChain& chain,
                    Problems& problems) {
  Holds(
      LearnerPart::kCheckpoints, [&] { return LastingLearning::Try(lasting, chain); }, problems);
}

absl::Status TryWeights(const std::string& weights, LayerChain& chain) {
  return weights.empty() ? absl::OkStatus() : LoadWeights(weights, chain);
}

// Does not check the network of the weights, because it is not known.
void FindWeights(const std::string& weights, Problems& problems) {
  if (weights.empty()) return;
  Holds(
      LearnerPart::kWeights,
      [&] { return NamingFile(RegularFile::Open(weights).status(), weights); }, problems);
}

FlowLearnerOptions WithoutWeights(FlowLearnerOptions options) {
  options.weights.clear();
  return options;
}

// For "auto", the planner chooses stages and cuts; for "local", the levels define the cuts.
void TryFlowStages(const FlowLearnerOptions& options, const LayerChain& chain, Problems& problems) {
  if (options.schedule == "auto" || options.schedule == "local") return;
  WantedStages wanted{.stages = options.stages,
                      .cuts = options.cuts,
                      .schedule = options.schedule,
                      .request = {.samples = options.samples, .switch_at = options.switch_at}};
  if (const auto recompute = RecomputeNamed(options.recompute); recompute.ok()) {
    wanted.request.recompute = *recompute;
  }
  TryCut(wanted, chain, problems);
}

}  // namespace

std::vector<LearnerProblem> TryFlowLearner(const FlowLearnerOptions& options) {
  Problems problems;
  Holds(
      LearnerPart::kSchedule, [&] { return CheckFlowOptions(options); }, problems);
  LayerChain chain;
  const auto open = [&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(chain, OpenFlowChain(WithoutWeights(options)));
    return absl::OkStatus();
  };
  if (!Holds(LearnerPart::kNetwork, open, problems)) {
    FindWeights(options.weights, problems);
    return problems;
  }
  Holds(
      LearnerPart::kWeights, [&] { return TryWeights(options.weights, chain); }, problems);
  TryFlowStages(options, chain, problems);
  TryCheckpoints(
      {.checkpoints = options.checkpoints, .task = FlowTaskInWords(options), .seed = options.seed},
      chain, problems);
  return problems;
}

std::vector<LearnerProblem> TryLabelStreamLearner(const LabelStreamOptions& options) {
  Problems problems;
  LabelLearnerOptions learner = options.learner;
  learner.sample_shape = {options.grey ? 1 : 3, options.height, options.width};
  learner.request.period = 0;
  learner.weights.clear();
  CheckpointOptions checkpoints;
  if (learner.safety) checkpoints = std::exchange(learner.safety->checkpoints, {});
  LayerChain chain;
  const auto open = [&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(NetworkWithState opened, OpenLabelNetwork(learner));
    chain = std::move(opened.chain);
    return absl::OkStatus();
  };
  if (!Holds(LearnerPart::kNetwork, open, problems)) {
    FindWeights(options.learner.weights, problems);
    return problems;
  }
  Holds(
      LearnerPart::kWeights, [&] { return TryWeights(options.learner.weights, chain); }, problems);
  const std::size_t before = problems.size();
  TryCut({.stages = learner.stages,
          .cuts = learner.cuts,
          .schedule = learner.schedule,
          .request = learner.request},
         chain, problems);
  // If the stages are possible, tries the whole learner on one sample.
  if (problems.size() == before) {
    Holds(
        LearnerPart::kNetwork,
        [&] { return MakeLabelLearner(learner, [](const LabelPrediction&) {}).status(); },
        problems);
  }
  TryCheckpoints(
      {.checkpoints = checkpoints, .task = TaskInWords(options.learner), .seed = learner.seed},
      chain, problems);
  return problems;
}

}  // namespace millrace::pipeline
