#include "pipeline/flow/flow_plan.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/planner/partition.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

constexpr int kProfiledSamples = 7;

// Cuts as configured or by cost, and makes the plans of the named schedule.
absl::StatusOr<PlannedChain> PlanAsNamed(const LayerChain& chain, const LearnerOptions& options,
                                         const std::string& network,
                                         const std::vector<LayerProfile>& layers) {
  PlannedChain planned{.cuts = options.cuts};
  if (planned.cuts.empty() && options.schedule == "local") {
    // The coarse levels are small, so they share the first stage.
    MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput input, FlowNetworkInputOf(network));
    planned.cuts.assign(input.level_begins.end() - (options.stages - 1), input.level_begins.end());
  } else if (planned.cuts.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(planned.cuts, BestCuts({.layers = layers, .stages = options.stages}));
  }
  MILLRACE_RETURN_IF_ERROR(CheckCuts(planned.cuts, static_cast<int>(layers.size())));
  planned.costs = StageCosts(CostsOf(layers), planned.cuts);
  ScheduleRequest request = options.request;
  request.shape = ShapeOf(chain, planned.cuts);
  request.costs = planned.costs;
  MILLRACE_ASSIGN_OR_RETURN(planned.phases, MakePhases(options.schedule, request));
  return planned;
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
  MILLRACE_ASSIGN_OR_RETURN(flow.network,
                            options.schedule == "auto"
                                ? PlanForTheRate(*flow.chain, options, profiled.costs, stop)
                                : PlanAsNamed(*flow.chain, options, task.network, layers));
  return flow;
}

}  // namespace millrace::pipeline
