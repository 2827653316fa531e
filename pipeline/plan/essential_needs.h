// The transitive reduction of a plan's dependencies: an operation waits only for dependencies that
// its device's order and its other dependencies do not imply.
//
// The reduced set is as correct as the full one, and cheaper: each remaining wait on CUDA is an
// event.
//
//   F2(t) needs F1(t), and B2(t - 2) for a slot: its device's order already implies B2(t - 2)
//   B1(t) needs B2(t), and F1(t): B2(t) already implies F1(t), through F2(t)
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
  /// REQUIRES: CheckPlan(plan) is OK; `dependencies` are those of `plan`.
  EssentialNeeds(const Plan& plan, const Dependencies& dependencies);

  /// The remaining dependencies of the operation at `place` in the order of `device`.
  [[nodiscard]] std::span<const Need> of(std::size_t device, std::size_t place) const {
    return needs_[device][place];
  }
  /// The remaining dependencies of admitting sample `in_pattern` of a pattern.
  [[nodiscard]] std::span<const Need> of_admission(int in_pattern) const {
    return admission_[static_cast<std::size_t>(in_pattern)];
  }

 private:
  std::vector<std::vector<std::vector<Need>>> needs_;
  std::vector<std::vector<Need>> admission_;
};

}  // namespace millrace::pipeline
