// The progress of each stage, shared between threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Progress on atomics. Thread-safe; one thread at a time counts a stage's operations of one kind.
/// Sequentially consistent, as EventCount requires.
class SharedProgress {
 public:
  explicit SharedProgress(const Plan& plan)
      : samples_per_pattern_(plan.samples_per_pattern),
        counts_(
            std::make_unique<Count[]>(std::size_t{kOperationKinds} * (plan.stage_count() + 1))) {}

  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const {
    return At(kind, stage).done;
  }
  void Complete(const Step& step) {
    At(step.kind, step.stage).done += step.samples();
    At(step.kind, step.stage).passed += step.samples();
  }
  void Skip(const Step& step) { At(step.kind, step.stage).passed += step.samples(); }
  void SkipRest(const Operation& operation) {
    At(operation.kind, operation.stage).passed = Progress::kInfinity;
  }

  /// Whether `dependencies` are met for the samples of `pattern`.
  [[nodiscard]] bool Meets(std::span<const Dependency> dependencies, std::int64_t pattern) const {
    const std::int64_t before = pattern * samples_per_pattern_;
    for (const Dependency& dependency : dependencies) {
      if (At(dependency.kind, dependency.stage).passed < dependency.samples + before) return false;
    }
    return true;
  }

 private:
  // On its own cache line, because other threads write the neighbours.
  struct alignas(64) Count {
    std::atomic<std::int64_t> passed = 0;
    std::atomic<std::int64_t> done = 0;
  };

  [[nodiscard]] Count& At(OperationKind kind, int stage) const {
    return counts_[stage * kOperationKinds + static_cast<int>(kind)];
  }

  const std::int64_t samples_per_pattern_;
  const std::unique_ptr<Count[]> counts_;
};

}  // namespace millrace::pipeline
