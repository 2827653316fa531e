#include "pipeline/stages/describe_learner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/steady_state.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

// The device that runs the forward of `stage`.
std::size_t DeviceOf(const Plan& plan, std::size_t stage) {
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (const Operation& operation : plan.devices[device]) {
      const bool forward = operation.kind == OperationKind::kForward;
      if (forward && operation.stage == static_cast<int>(stage)) return device;
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<LearnerDescription> Describe(const LayerChain& chain, const CutPipeline& pipeline,
                                            const Effort& effort) {
  const Plan& plan = pipeline.plan;
  LearnerDescription description{
      .schedule = plan.schedule, .stages = {}, .update_every = effort.update_every};
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<StageFigures> figures, CheckPlan(plan));
  const std::vector<Stage> stages = CutIntoStages(chain, pipeline.cuts);
  std::vector<StageCost> at_effort;
  double in_all_ms = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageCost& cost = pipeline.costs[i];
    description.stages.push_back({.layers = stages[i].layer_names(),
                                  .device = absl::StrCat("cpu:", DeviceOf(plan, i + 1)),
                                  .forward_ms = cost.forward,
                                  .backward_ms = cost.backward,
                                  .update_ms = cost.update,
                                  .staleness = figures[i].staleness,
                                  .mismatch = figures[i].mismatch});
    at_effort.push_back(AtEffort(cost, effort));
    in_all_ms += at_effort.back().total();
  }
  const SteadyFigures steady = Steady(plan, at_effort, /*interval=*/0);
  description.delay_ms = steady.delay;
  description.samples_per_second = 1000 / steady.period;
  description.sequential_samples_per_second = 1000 / in_all_ms;
  return description;
}

}  // namespace millrace::pipeline
