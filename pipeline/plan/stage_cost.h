// The costs of work. Cuts, plans and simulations are computed from them.
#pragma once

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// The cost of one sample in a stage or a layer, in any unit of time.
struct StageCost {
  double forward = 0;
  double backward = 0;
  double update = 0;
  /// The copy of its output to the next stage's device, or of a gradient of that size back. Devices
  /// compute at the same time.
  double copy = 0;

  [[nodiscard]] double total() const { return forward + backward + update; }
};

/// The cost of `operation` in a stage of cost `cost`. A backward or forward counts for each sample
/// that it covers, with the forwards that run again. An update counts once.
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

}  // namespace millrace::pipeline
