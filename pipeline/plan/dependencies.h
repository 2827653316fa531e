// The dependencies of each operation of a plan. The checker, the simulator and the engine share
// this one definition.
//
// A stage runs each kind of operation in a fixed order of the samples. So "this operation is done"
// means "its stage has done n operations of that kind", and every wait is on a counter. Between two
// periods, all counter values that an operation waits for rise by k. So they are computed once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// A dependency: in pattern p, `stage` must have passed `samples` + p k samples in its order of
/// `kind`. Stage 0's forward is admission.
struct Dependency {
  OperationKind kind = OperationKind::kForward;
  int stage = 0;
  std::int64_t samples = 0;

  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// By device and place in its order. The camera, which admits the samples of a pattern in turn, is
/// one device more.
using OrderedDependencies = std::vector<std::vector<std::vector<Dependency>>>;

/// The dependencies of every operation of a plan, besides the operation before it on its device:
///   - Its input exists: a forward's inputs; a backward's activations (of sample t + lead) and
///     gradients; an update's gradients; the version of the weights that it names.
///   - Its output has a free place: the last reader of the slot's older sample is done. For an
///     update, the last reader of the version that it overwrites is done.
/// A stage of another rank (plan_part.h) keeps nothing here, so its operations wait for no slot or
/// version of its own. They wait for the tensors to send, and for room for tensors to receive. A
/// forward also waits for admission. A backward that sends nothing also waits until the sample has
/// a backward at all.
/// Constant after construction. The plan need not outlive it.
class Dependencies {
 public:
  /// REQUIRES: every stage has each of its kinds of operations once for each sample.
  explicit Dependencies(const Plan& plan);

  /// The transitive reduction: without the dependencies that the device's order and the other
  /// dependencies imply. It is as correct, and cheaper: each dependency on CUDA is an event.
  /// REQUIRES: CheckPlan(plan) is OK; it is the plan of these dependencies.
  [[nodiscard]] Dependencies Reduced(const Plan& plan) const;

  /// The dependencies of the operation at `place` in the order of `device`.
  [[nodiscard]] std::span<const Dependency> of(std::size_t device, std::size_t place) const {
    return dependencies_[device][place];
  }
  /// The dependencies of admitting sample `in_pattern` of a pattern.
  [[nodiscard]] std::span<const Dependency> of_admission(int in_pattern) const {
    return dependencies_.back()[in_pattern];
  }
  /// The number of samples on which `stage` has done `kind`, once it is done with `sample`: 1, 2
  /// ... in the order of the stage. A channel's ring is filled in that order.
  [[nodiscard]] std::int64_t Position(OperationKind kind, int stage, std::int64_t sample) const;

 private:
  class Builder;

  int samples_per_pattern_;
  OrderedDependencies dependencies_;
  // By kind, stage and sample of the pattern: the place in the stage's order, from 0.
  std::array<std::vector<std::vector<int>>, kOperationKinds> places_;
};

/// The progress of each stage in its order of each kind of operation. Index 0 is the camera.
class Progress {
 public:
  /// A count beyond the end of any stream.
  static constexpr std::int64_t kInfinity = std::int64_t{1} << 62;

  explicit Progress(const Plan& plan);

  /// Samples on which `stage` has done `kind`.
  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const {
    return done_[static_cast<int>(kind)][stage];
  }
  /// done(), plus the samples on which it never will, because the stream ends first.
  [[nodiscard]] std::int64_t passed(OperationKind kind, int stage) const {
    return passed_[static_cast<int>(kind)][stage];
  }
  void Complete(const Step& step) {
    done_[static_cast<int>(step.kind)][step.stage] += step.samples();
    passed_[static_cast<int>(step.kind)][step.stage] += step.samples();
  }
  /// `step` will never run.
  void Skip(const Step& step) {
    passed_[static_cast<int>(step.kind)][step.stage] += step.samples();
  }
  /// `operation` will never run again.
  void SkipRest(const Operation& operation) {
    passed_[static_cast<int>(operation.kind)][operation.stage] = kInfinity;
  }
  /// Whether `dependencies` are met for the samples of `pattern`.
  [[nodiscard]] bool Meets(std::span<const Dependency> dependencies, std::int64_t pattern) const;

 private:
  std::int64_t samples_per_pattern_;
  std::array<std::vector<std::int64_t>, kOperationKinds> done_;
  std::array<std::vector<std::int64_t>, kOperationKinds> passed_;
};

}  // namespace millrace::pipeline
