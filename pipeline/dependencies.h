// What each operation of a plan waits for: the one statement of it, which the checker, the
// simulator and the engine share.
//
// Every stage does each kind of operation in the order of the samples, so "this operation is done"
// is "its stage has done so many of that kind", and all waiting is on counters.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pipeline/plan.h"

namespace millrace::pipeline {

/// Wants `stage` to have done `kind` on at least `samples` samples. Stage 0's forward is admission.
struct Need {
  OperationKind kind = OperationKind::kForward;
  int stage = 0;
  std::int64_t samples = 0;
};

/// All that `step` waits for, beside the step before it on its device:
///   - what it reads is there: a forward's inputs; a backward's activations (of sample t + lead)
///   and
///     gradients; an update's gradients;
///   - where it writes is free: the last reader of the slot's older sample is done.
/// Stage 0 has forwards only. REQUIRES: step.first >= 0.
[[nodiscard]] std::vector<Need> NeedsOf(const Plan& plan, const Step& step);

/// How many samples each stage has done, by kind. Index 0 is the camera.
class Progress {
 public:
  explicit Progress(const Plan& plan);

  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const {
    return done_[static_cast<int>(kind)][stage];
  }
  /// Counts `step` as done. REQUIRES: it is its stage's next of its kind.
  void Complete(const Step& step);
  [[nodiscard]] bool Meets(const std::vector<Need>& needs) const;

 private:
  std::array<std::vector<std::int64_t>, kOperationKinds> done_;
};

}  // namespace millrace::pipeline
