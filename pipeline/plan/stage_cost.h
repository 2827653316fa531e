// What work costs: the numbers that cuts, plans and simulations are made from.
#pragma once

#include <span>

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// What one sample costs a stage or a layer, in any unit of time.
struct StageCost {
  double forward = 0;
  double backward = 0;
  double update = 0;
  /// To carry its output to the device of the next one, or a gradient of that size back. Devices
  /// compute meanwhile.
  double copy = 0;

  [[nodiscard]] double total() const { return forward + backward + update; }
};

/// What `operation` costs a stage of cost `cost`: a backward or forward for every sample that it
/// covers, with the forwards that are run again; an update once.
[[nodiscard]] inline double CostOf(const Operation& operation, const StageCost& cost) {
  switch (operation.kind) {
    case OperationKind::kForward:
      return cost.forward * operation.count;
    case OperationKind::kBackward: {
      const double again = operation.keeps == Keeps::kInputs ? cost.forward : 0;
      return (again + cost.backward) * operation.count;
    }
    case OperationKind::kUpdate:
      return cost.update;
  }
  return 0;
}

/// What a sample takes from its first forward to `stage`, of stages of cost `costs`, where it waits
/// nowhere.
[[nodiscard]] inline double ForwardsBefore(std::span<const StageCost> costs, int stage) {
  double before = 0;
  for (const StageCost& cost : costs.first(stage - 1)) before += cost.forward + cost.copy;
  return before;
}

}  // namespace millrace::pipeline
