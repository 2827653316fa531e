#include "service/commands/plan/plan_loads.h"

#include <algorithm>

#include "pipeline/plan/copies.h"
#include "pipeline/planner/plan_memory.h"

namespace millrace::service {
namespace {

using pipeline::Operation;
using enum pipeline::OperationKind;

int LargestLayer(const pipeline::NetworkProfile& network, const std::vector<PlannedStage>& stages,
                 std::size_t device) {
  int largest = -1;
  for (const PlannedStage& stage : stages) {
    if (stage.device != device && stage.backward_device != device) continue;
    for (int layer = stage.first_layer; layer <= stage.last_layer; ++layer) {
      if (largest < 0 ||
          network.layers[layer].cost.total() > network.layers[largest].cost.total()) {
        largest = layer;
      }
    }
  }
  return largest;
}

// A device's work per sample, and its number of stages.
struct DeviceLoad {
  double load_ms = 0;
  int stages = 0;
  int stage = 1;
};

DeviceLoad LoadOf(const PlanReport& report, std::size_t device) {
  DeviceLoad load;
  std::vector<bool> seen(report.costs.size() + 1, false);
  for (const Operation& operation : report.plan.devices[device]) {
    load.load_ms += CostOf(report.plan, operation, report.costs[operation.stage - 1]) /
                    report.plan.samples_per_pattern;
    load.stage = operation.stage;
    load.stages += seen[operation.stage] ? 0 : 1;
    seen[operation.stage] = true;
  }
  return load;
}

}  // namespace

std::vector<PlannedStage> PlannedStages(const pipeline::NetworkProfile& network,
                                        const pipeline::Cuts& cuts, const pipeline::Plan& plan,
                                        const std::vector<pipeline::StageCost>& costs) {
  std::vector<PlannedStage> stages(plan.stage_count());
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (const Operation& operation : plan.devices[device]) {
      PlannedStage& stage = stages[operation.stage - 1];
      stage.load_ms +=
          CostOf(plan, operation, costs[operation.stage - 1]) / plan.samples_per_pattern;
      (operation.kind == kForward ? stage.device : stage.backward_device) = device;
    }
  }
  const std::vector<pipeline::StageHolds> holds = pipeline::HoldsOf(plan);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    PlannedStage& stage = stages[i];
    stage.holds = holds[i];
    stage.first_layer = i > 0 ? cuts[i - 1] : 0;
    const int end = i < cuts.size() ? cuts[i] : static_cast<int>(network.layers.size());
    stage.last_layer = end - 1;
    stage.memory_bytes = StageBytes(network.layers, stage.first_layer, end, stage.holds);
  }
  return stages;
}

Bottleneck FindBottleneck(const pipeline::NetworkProfile& network, const PlanReport& report) {
  Bottleneck worst;
  for (std::size_t device = 0; device < report.plan.devices.size(); ++device) {
    const DeviceLoad load = LoadOf(report, device);
    if (load.load_ms <= worst.load_ms) continue;
    const bool alone = load.stages == 1 && report.stages[load.stage - 1].device ==
                                               report.stages[load.stage - 1].backward_device;
    worst = {.kind = alone ? Bottleneck::Kind::kStage : Bottleneck::Kind::kDevice,
             .number = alone ? load.stage : static_cast<int>(device),
             .load_ms = load.load_ms,
             .layer = LargestLayer(network, report.stages, device)};
  }
  const pipeline::DeviceCopies copies(report.plan, report.costs);
  for (const pipeline::DeviceCopy& copy : copies.all()) {
    const double load_ms = copies.loads()[copy.link];
    if (load_ms <= worst.load_ms) continue;
    const int cut = copy.kind == kForward ? copy.stage : copy.stage - 1;
    worst = {.kind = Bottleneck::Kind::kCut,
             .number = cut,
             .load_ms = load_ms,
             .layer = report.stages[cut - 1].last_layer,
             .copies = static_cast<int>(
                 std::ranges::count(copies.all(), copy.link, &pipeline::DeviceCopy::link))};
  }
  if (report.hosts) {
    const BusiestLink link = BusiestLinkOf(*report.hosts);
    if (link.ms >= worst.load_ms) {
      return {.kind = Bottleneck::Kind::kLink, .number = link.host, .load_ms = link.ms};
    }
  }
  const bool cut = worst.kind == Bottleneck::Kind::kCut;
  worst.layer_ms = cut ? worst.load_ms : network.layers[worst.layer].cost.total();
  return worst;
}

}  // namespace millrace::service
