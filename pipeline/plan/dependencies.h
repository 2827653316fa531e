// What each operation of a plan waits for: the one statement of it, which the checker, the
// simulator and the engine share.
//
// A stage does each kind of operation in a fixed order of the samples, so "this operation is done"
// is "its stage has done so many of that kind", and all waiting is on counters. What an operation
// needs of the counters moves by k with every period, so it is worked out once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Wants `stage` to have passed `samples` samples in its order of `kind`, in pattern 0; in pattern
/// p `samples` + p k. Stage 0's forward is admission.
struct Need {
  OperationKind kind = OperationKind::kForward;
  int stage = 0;
  std::int64_t samples = 0;

  friend bool operator==(const Need&, const Need&) = default;
};

/// The needs of every operation of a plan, beside the operation before it on its device:
///   - what it reads is there: a forward's inputs; a backward's activations (of sample t + lead)
///     and gradients; an update's gradients; the version of the weights that it names;
///   - where it writes is free: the last reader of the slot's older sample, or of the version of
///     the weights that an update replaces, is done.
/// Constant after construction. The plan need not outlive it.
class Dependencies {
 public:
  /// REQUIRES: every stage does each kind once for each sample of the pattern.
  explicit Dependencies(const Plan& plan);

  /// Of the operation at `place` in the order of `device`.
  [[nodiscard]] std::span<const Need> of(std::size_t device, std::size_t place) const {
    return needs_[device][place];
  }
  /// Of admitting sample `in_pattern` of a pattern.
  [[nodiscard]] std::span<const Need> of_admission(int in_pattern) const {
    return admission_[in_pattern];
  }
  /// How many samples `stage` has done `kind` on, once it is done with `sample`: 1, 2 ... for the
  /// samples in the order of the stage. A channel's ring is filled in that order.
  [[nodiscard]] std::int64_t Position(OperationKind kind, int stage, std::int64_t sample) const;

 private:
  class Builder;

  int samples_per_pattern_;
  std::vector<std::vector<std::vector<Need>>> needs_;
  std::vector<std::vector<Need>> admission_;
  // By kind, stage and sample of the pattern: the place in the order of the stage, from 0.
  std::array<std::vector<std::vector<int>>, kOperationKinds> places_;
};

/// How far each stage is in its order of each kind of operation. Index 0 is the camera.
class Progress {
 public:
  /// Beyond the end of any stream.
  static constexpr std::int64_t kForEver = std::int64_t{1} << 62;

  explicit Progress(const Plan& plan);

  /// Samples on which `stage` has done `kind`.
  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const {
    return done_[static_cast<int>(kind)][stage];
  }
  /// The same, and those on which it never will, because the stream ends first.
  [[nodiscard]] std::int64_t passed(OperationKind kind, int stage) const {
    return passed_[static_cast<int>(kind)][stage];
  }
  void Complete(const Step& step) {
    done_[static_cast<int>(step.kind)][step.stage] += step.samples();
    Pass(step);
  }
  void Pass(const Step& step) {
    passed_[static_cast<int>(step.kind)][step.stage] += step.samples();
  }
  /// Nothing more of `operation` will ever be.
  void PassForEver(const Operation& operation) {
    passed_[static_cast<int>(operation.kind)][operation.stage] = kForEver;
  }
  /// Whether `needs` are met for the samples of `pattern`.
  [[nodiscard]] bool Meets(std::span<const Need> needs, std::int64_t pattern) const;

 private:
  std::int64_t samples_per_pattern_;
  std::array<std::vector<std::int64_t>, kOperationKinds> done_;
  std::array<std::vector<std::int64_t>, kOperationKinds> passed_;
};

}  // namespace millrace::pipeline
