#include "pipeline/cost_profile.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/check.h"
#include "pipeline/serial_run.h"
#include "pipeline/staged_network.h"

namespace millrace::pipeline {
namespace {

constexpr int kRuns = 6;  // The first warms caches and allocators; the least is what counts.

double MillisecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double& PartOf(StageCost& cost, OperationKind kind) {
  switch (kind) {
    case OperationKind::kForward:
      return cost.forward;
    case OperationKind::kBackward:
      return cost.backward;
    case OperationKind::kUpdate:
      break;
  }
  return cost.update;
}

// Cuts everywhere: every layer a stage.
Cuts AllCuts(const LayerChain& chain) {
  Cuts cuts;
  for (int layer = 1; layer < static_cast<int>(chain.layers.size()); ++layer) cuts.push_back(layer);
  return cuts;
}

Plan OneByOne(PipelineShape shape) {
  std::vector<StageCost> costs(shape.stages);
  auto plan = MakePlan("sequential", {.shape = std::move(shape), .costs = std::move(costs)});
  MILLRACE_CHECK(plan.ok());
  return *std::move(plan);
}

}  // namespace

std::vector<StageCost> ProfileLayers(const LayerChain& chain, const at::Tensor& input,
                                     const std::function<at::Tensor(const at::Tensor&)>& objective,
                                     const std::stop_token& stop) {
  constexpr auto kUnknown = std::numeric_limits<double>::infinity();
  const Cuts cuts = AllCuts(chain);
  const Plan plan = OneByOne(ShapeOf(chain, cuts));
  // A learning rate of 0: the update does all its work and changes nothing.
  StagedNetwork network({.chain = chain,
                         .cuts = cuts,
                         .plan = plan,
                         .judge = [&](const Judgement& j) { return objective(j.output); },
                         .optimizer = {.learning_rate = 0}});
  std::vector<StageCost> least(chain.layers.size(), {kUnknown, kUnknown, kUnknown});
  RunSerially(plan, kRuns, [&](const Step& step) {
    if (stop.stop_requested()) return;
    if (step.kind == OperationKind::kForward && step.stage == 1) network.Admit(step.first, input);
    double& part = PartOf(least[step.stage - 1], step.kind);
    part = std::min(part, MillisecondsOf([&] { network.Run(step); }));
  });
  for (const Stage& stage : CutIntoStages(chain, cuts)) {
    for (const at::Tensor& parameter : stage.parameters()) parameter.mutable_grad() = at::Tensor();
  }
  return least;
}

}  // namespace millrace::pipeline
