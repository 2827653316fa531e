#include "pipeline/preflight/try_learner.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/labels/staged_label_learner.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/planner/partition.h"
#include "pipeline/recovery/checkpoints.h"
#include "pipeline/recovery/learner_ranks.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/planned_chain.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

using Problems = std::vector<LearnerProblem>;

/// Adds the failure of `look` as a problem of `part`. Returns whether there was no failure.
bool Holds(LearnerPart part, const std::function<absl::Status()>& look, Problems& problems) {
  const absl::Status status = ExceptionToStatus(look, InternalCause);
  if (!status.ok()) problems.push_back({part, status});
  return status.ok();
}

// Assumes equal costs of all layers: the best cuts would need measurements.
absl::StatusOr<Cuts> AnyCuts(int layers, int stages) {
  return BestCuts(std::vector<StageCost>(layers, kAssumedCost), stages);
}

// Ignores the period, because it depends on measured costs.
void TryCut(const LearnerOptions& options, const LayerChain& chain, Problems& problems) {
  const int layers = static_cast<int>(chain.layers.size());
  Cuts cuts = options.cuts;
  if (!cuts.empty()) {
    if (!Holds(
            LearnerPart::kCuts, [&] { return CheckCuts(cuts, layers); }, problems)) {
      return;
    }
  } else {
    const auto cut = [&]() -> absl::Status {
      MILLRACE_ASSIGN_OR_RETURN(cuts, AnyCuts(layers, options.stages));
      return absl::OkStatus();
    };
    if (!Holds(LearnerPart::kStages, cut, problems)) return;
  }
  ScheduleRequest request = options.request;
  request.shape = ShapeOf(chain, cuts);
  request.costs.assign(cuts.size() + 1, kAssumedCost);
  request.period = 0;
  Holds(
      LearnerPart::kSchedule, [&] { return MakePhases(options.schedule, request).status(); },
      problems);
}

void TryCheckpoints(const Recovery::Options& recovery, const LayerChain& chain,
                    Problems& problems) {
  Holds(
      LearnerPart::kCheckpoints, [&] { return Recovery::Try(recovery, chain); }, problems);
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

LearnerOptions WithoutWeights(LearnerOptions options) {
  options.weights.clear();
  return options;
}

}  // namespace

std::vector<LearnerProblem> TryFlowLearner(const LearnerOptions& options,
                                           const FlowTaskOptions& task) {
  Problems problems;
  Holds(
      LearnerPart::kSchedule, [&] { return CheckFlowOptions(options, task); }, problems);
  LayerChain chain;
  const auto open = [&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(chain, OpenFlowChain(WithoutWeights(options), task));
    return absl::OkStatus();
  };
  if (!Holds(LearnerPart::kNetwork, open, problems)) {
    FindWeights(options.weights, problems);
    return problems;
  }
  Holds(
      LearnerPart::kWeights, [&] { return TryWeights(options.weights, chain); }, problems);
  // For "auto", the planner chooses stages and cuts; for "local", the levels define the cuts.
  if (options.schedule != "auto" && options.schedule != "local") TryCut(options, chain, problems);
  TryCheckpoints({.checkpoints = options.checkpoints,
                  .task = FlowTaskInWords(task.next_frame),
                  .seed = options.seed},
                 chain, problems);
  return problems;
}

std::vector<LearnerProblem> TryLabelLearner(const LearnerOptions& options,
                                            const LabelTaskOptions& task) {
  Problems problems;
  LearnerOptions bare = WithoutWeights(options);
  bare.request.period = 0;
  bare.checkpoints = {};
  bare.rank_of_stage = {};
  LayerChain chain;
  const auto open = [&]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(NetworkWithState opened, OpenLabelNetwork(bare, task));
    chain = std::move(opened.chain);
    return absl::OkStatus();
  };
  if (!Holds(LearnerPart::kNetwork, open, problems)) {
    FindWeights(options.weights, problems);
    return problems;
  }
  Holds(
      LearnerPart::kWeights, [&] { return TryWeights(options.weights, chain); }, problems);
  const std::size_t before = problems.size();
  Holds(
      LearnerPart::kSchedule, [&] { return CheckRankOptions(options); }, problems);
  if (options.schedule == "auto") {  // The planner chooses stages and cuts.
    bare.schedule = "sequential";
    bare.stages = 1;
    Holds(
        LearnerPart::kSchedule, [&] { return CheckRate(options); }, problems);
  } else {
    TryCut(options, chain, problems);
  }
  // If the stages are possible, tries the whole learner on one sample.
  if (problems.size() == before) {
    Holds(
        LearnerPart::kNetwork,
        [&] {
          return StagedLabelLearner::Make(bare, task, [](const ModelPrediction&) {}).status();
        },
        problems);
  }
  TryCheckpoints(
      {.checkpoints = options.checkpoints, .task = TaskInWords(task), .seed = options.seed}, chain,
      problems);
  return problems;
}

}  // namespace millrace::pipeline
