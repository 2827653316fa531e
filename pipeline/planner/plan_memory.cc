#include "pipeline/planner/plan_memory.h"

namespace millrace::pipeline {
namespace {

// The first layer of `stage`, counted from 0; the number of layers for a stage after the last.
int FirstLayer(const std::vector<LayerProfile>& layers, const Cuts& cuts, std::size_t stage) {
  if (stage == 0) return 0;
  return stage <= cuts.size() ? cuts[stage - 1] : static_cast<int>(layers.size());
}

StageHolds HeldFor(const Operation& backward, const StageRules& rules) {
  const bool again = backward.keeps == Keeps::kInputs;
  // Between a backward and its weight gradient, the gradients of a sample's activations.
  const int gradients = rules.splits_backward ? 1 : 0;
  return {.versions = rules.versions,
          .activations = (again ? 1 : rules.slots) + gradients,
          .inputs = again ? rules.slots : 0};
}

}  // namespace

std::vector<StageHolds> HoldsOf(const Plan& plan) {
  std::vector<StageHolds> holds(plan.stage_count());
  for (const auto& order : plan.devices) {
    for (const Operation& operation : order) {
      StageHolds& held = holds[operation.stage - 1];
      if (operation.kind != OperationKind::kBackward || held.inputs > 0) continue;
      held = HeldFor(operation, plan.rules(operation.stage));
    }
  }
  return holds;
}

std::vector<double> DeviceBytes(const Plan& plan, const std::vector<LayerProfile>& layers,
                                const Cuts& cuts) {
  const std::vector<StageHolds> holds = HoldsOf(plan);
  std::vector<double> bytes(plan.devices.size(), 0.0);
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    std::vector<bool> counted(holds.size(), false);
    for (const Operation& operation : plan.devices[device]) {
      const std::size_t stage = operation.stage - 1;
      if (counted[stage]) continue;
      counted[stage] = true;
      bytes[device] += StageBytes(layers, FirstLayer(layers, cuts, stage),
                                  FirstLayer(layers, cuts, stage + 1), holds[stage]);
    }
  }
  return bytes;
}

}  // namespace millrace::pipeline
