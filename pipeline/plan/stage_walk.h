// Walks through the operations of one stage in order, and finds the weights and samples that meet.
#pragma once

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// The effect of a plan on one stage in steady state. docs/architecture.md defines the terms.
struct StageFigures {
  /// Samples between the gradient and the activations that it multiplies.
  int mismatch = 0;
  /// Updates between the stage's own forward and backward of a sample.
  int staleness = 0;
  /// Updates between two versions of the weights: the one that made the activations of a backward,
  /// and the one that the backward meets.
  int weight_gap = 0;
  /// Updates between the weights that a backward meets and the update that applies its gradient.
  int gradient_age = 0;
  /// Sets of activations that are alive at once (NCA).
  int slots = 0;
  /// Places that a ring needs for them. More than `slots` where samples are not freed in order.
  int ring = 0;
  /// Versions of the weights that are read at once, including the newest.
  int versions = 0;
};

/// The figures of `stage`, over enough periods to reach steady state. REQUIRES: every sample of the
/// pattern has a forward, a backward and an update there.
[[nodiscard]] StageFigures WalkStage(const Plan& plan, int stage);

/// Whether every stage learns from all samples of a pattern at once, before it sees the next
/// pattern: mini-batch learning, as in gpipe.
[[nodiscard]] bool LearnsByMiniBatch(const Plan& plan);

/// The greatest shift of any operation.
[[nodiscard]] int MaxShift(const Plan& plan);

}  // namespace millrace::pipeline
