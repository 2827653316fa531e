// Walks through what one stage does, in order, and notes which weights and which samples meet.
#pragma once

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// What a plan does to one stage in steady state. The words are those of docs/architecture.md.
struct StageFigures {
  /// Samples between the gradient and the activations that it multiplies.
  int mismatch = 0;
  /// Updates between the stage's own forward and backward of a sample.
  int staleness = 0;
  /// Updates between the weights that made the activations a backward uses and the weights it
  /// meets.
  int weight_gap = 0;
  /// Updates between the weights that a backward meets and the update that applies its gradient.
  int gradient_age = 0;
  /// Sets of activations that are alive at once (NCA).
  int slots = 0;
  /// Places that a ring needs for them: more than `slots` where samples are not freed in order.
  int ring = 0;
  /// Versions of the weights that are read at once, the newest counted.
  int versions = 0;
};

/// The figures of `stage` over enough periods to be steady. REQUIRES: every sample of the pattern
/// has a forward, a backward and an update there.
[[nodiscard]] StageFigures WalkStage(const Plan& plan, int stage);

/// Whether every stage learns from the several samples of a pattern at once, and before it sees any
/// of the next pattern's: mini-batch learning, as gpipe's.
[[nodiscard]] bool LearnsByMiniBatch(const Plan& plan);

/// The greatest shift of any operation.
[[nodiscard]] int MaxShift(const Plan& plan);

}  // namespace millrace::pipeline
