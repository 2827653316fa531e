// Walks through the operations of one device of a plan, period after period, without end.
//
// Every interpreter of plans walks this way: the engine, the simulators, the reductions. Each has
// its own rule for the operations that it may pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// A position in a device's order. The plan outlives it. For one thread at a time.
class PlanCursor {
 public:
  /// The operation at `place` of `device`, in `period`.
  PlanCursor(const Plan& plan, std::size_t device, std::size_t place = 0, std::int64_t period = 0)
      : plan_(&plan), device_(device), place_(place), period_(period) {}

  [[nodiscard]] std::size_t device() const { return device_; }
  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] std::int64_t period() const { return period_; }

  [[nodiscard]] const std::vector<Operation>& order() const { return plan_->devices[device_]; }
  [[nodiscard]] const Operation& operation() const { return order()[place_]; }
  [[nodiscard]] Step step() const { return StepOf(*plan_, operation(), period_); }
  /// The number of the pattern that the step's samples belong to.
  [[nodiscard]] std::int64_t pattern() const { return period_ - operation().shift; }
  /// Whether the step has no samples yet.
  [[nodiscard]] bool filling() const { return pattern() < 0; }

  /// Moves to the next operation. Returns whether it is the first one of the next period.
  bool Next() {
    if (++place_ < order().size()) return false;
    place_ = 0;
    ++period_;
    return true;
  }

 private:
  const Plan* plan_;
  std::size_t device_;
  std::size_t place_;
  std::int64_t period_;
};

/// A cursor for each device that has operations, at its first one.
[[nodiscard]] inline std::vector<PlanCursor> CursorsOf(const Plan& plan) {
  std::vector<PlanCursor> cursors;
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    if (!plan.devices[device].empty()) cursors.emplace_back(plan, device);
  }
  return cursors;
}

}  // namespace millrace::pipeline
