// The needs of a plan that nothing else implies.
//
// Much of what an operation needs is there anyway once its turn on its device has come, or once
// something else that it needs is. A device that is told of the rest alone waits as correctly, and
// waits for less: on CUDA each need is an event.
//
//   F2(t) needs F1(t), and B2(t - 2) for a slot: the order of its device has that
//   B1(t) needs B2(t), and F1(t): which B2(t) needs through F2(t)
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Constant after construction. The plan need not outlive it.
class EssentialNeeds {
 public:
  /// REQUIRES: CheckPlan(plan) is OK; `dependencies` are the plan's.
  EssentialNeeds(const Plan& plan, const Dependencies& dependencies);

  /// Of the operation at `place` in the order of `device`, as Dependencies::of() has them.
  [[nodiscard]] std::span<const Need> of(std::size_t device, std::size_t place) const {
    return needs_[device][place];
  }
  /// Of admitting sample `in_pattern` of a pattern.
  [[nodiscard]] std::span<const Need> of_admission(int in_pattern) const {
    return admission_[static_cast<std::size_t>(in_pattern)];
  }

 private:
  std::vector<std::vector<std::vector<Need>>> needs_;
  std::vector<std::vector<Need>> admission_;
};

}  // namespace millrace::pipeline
