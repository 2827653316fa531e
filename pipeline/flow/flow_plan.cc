#include "pipeline/flow/flow_plan.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/planner/partition.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

constexpr int kProfiledSamples = 7;
// A busy start-up measures more spread than the later run has; real drops adapt the plan later.
constexpr double kUsualSpread = 0.1;
constexpr double kMaxSpread = 0.25;

// Cuts and plans for the camera's frame rate.
absl::Status PlanForTheRate(const LearnerOptions& options, PlannerRequest request,
                            PlannedFlow& flow) {
  request.skips_of = [chain = flow.chain.get()](const Cuts& cuts) {
    return ShapeOf(*chain, cuts).skips;
  };
  request.interval = 1000 / options.frames_per_second;
  request.devices = options.stages;
  MILLRACE_ASSIGN_OR_RETURN(PlannedPipeline found, PlanFor(request));
  flow.cuts = found.cuts;
  flow.phases = {{.plan = found.plan}};
  flow.for_a_rate = {std::move(request), std::move(found)};
  return absl::OkStatus();
}

// Cuts as configured or by cost, and makes the plans of the named schedule.
absl::Status PlanAsNamed(const LearnerOptions& options, const std::string& network,
                         const std::vector<LayerProfile>& layers, PlannedFlow& flow) {
  flow.cuts = options.cuts;
  if (flow.cuts.empty() && options.schedule == "local") {
    // The coarse levels are small, so they share the first stage.
    MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput input, FlowNetworkInputOf(network));
    flow.cuts.assign(input.level_begins.end() - (options.stages - 1), input.level_begins.end());
  } else if (flow.cuts.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(flow.cuts, BestCuts({.layers = layers, .stages = options.stages}));
  }
  MILLRACE_RETURN_IF_ERROR(CheckCuts(flow.cuts, static_cast<int>(layers.size())));
  ScheduleRequest request = options.request;
  request.shape = ShapeOf(*flow.chain, flow.cuts);
  request.costs = StageCosts(CostsOf(layers), flow.cuts);
  MILLRACE_ASSIGN_OR_RETURN(flow.phases, MakePhases(options.schedule, request));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlannedFlow> PlanFlow(const LearnerOptions& options, const FlowTaskOptions& task,
                                     const std::stop_token& stop) {
  MILLRACE_RETURN_IF_ERROR(CheckFlowOptions(options, task));
  MILLRACE_ASSIGN_OR_RETURN(ProfiledFlow profiled,
                            ProfileFlow(options, task, kProfiledSamples, stop));
  std::vector<LayerProfile>& layers = profiled.costs.layers;
  for (LayerProfile& layer : layers) layer.cost.copy = 0;  // Threads pass tensors without a copy.
  PlannedFlow flow{.chain = std::make_unique<LayerChain>(std::move(profiled.chain))};
  if (options.schedule == "auto") {
    const double spread = std::min(profiled.costs.spread.value_or(kUsualSpread), kMaxSpread);
    MILLRACE_RETURN_IF_ERROR(
        PlanForTheRate(options, {.layers = layers, .spread = spread, .stop = stop}, flow));
  } else {
    MILLRACE_RETURN_IF_ERROR(PlanAsNamed(options, task.network, layers, flow));
  }
  flow.costs = StageCosts(CostsOf(layers), flow.cuts);
  return flow;
}

}  // namespace millrace::pipeline
