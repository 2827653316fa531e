// The costs of work. Cuts, plans and simulations are computed from them.
#pragma once

#include <vector>

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
  /// The part of `backward` that a stage can do later, in a weight gradient.
  double weight_gradient = 0;

  /// A backward's time where the weight gradient comes later.
  [[nodiscard]] double input_gradient() const { return backward - weight_gradient; }
  [[nodiscard]] double total() const { return forward + backward + update; }

  friend bool operator==(const StageCost&, const StageCost&) = default;
};

/// The cost of a sample on one device that runs all of these.
[[nodiscard]] inline double TotalOf(const std::vector<StageCost>& costs) {
  double total = 0;
  for (const StageCost& cost : costs) total += cost.total();
  return total;
}

/// The cost of a stage or layer that is not measured. A backward takes as long as two forwards,
/// half of it for the weights.
inline constexpr StageCost kAssumedCost = {.forward = 1, .backward = 2, .weight_gradient = 1};

/// The cost of `operation` of `plan` in a stage of cost `cost`. It counts for each sample that the
/// operation covers, with the forwards that run again. An update counts once.
[[nodiscard]] inline double CostOf(const Plan& plan, const Operation& operation,
                                   const StageCost& cost) {
  switch (operation.kind) {
    case OperationKind::kForward:
      return cost.forward * operation.count;
    case OperationKind::kBackward: {
      const double again = operation.keeps == Keeps::kInputs ? cost.forward : 0;
      const bool splits = plan.rules(operation.stage).splits_backward;
      return (again + (splits ? cost.input_gradient() : cost.backward)) * operation.count;
    }
    case OperationKind::kWeightGradient:
      return cost.weight_gradient * operation.count;
    case OperationKind::kUpdate:
      return cost.update;
  }
  return 0;
}

}  // namespace millrace::pipeline
