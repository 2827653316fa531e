// What happened when, on which device: what drawings and traces are made from.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/simulator.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// One operation, simulated or run.
struct TimelineEvent {
  std::size_t device = 0;
  Step step;
  Span span;
};

/// What carries the product of one operation to the device of a neighbouring stage.
struct CopyEvent {
  std::size_t from_device = 0;
  /// Activations of its stage, or the gradient that it passes back.
  Step step;
  Span span;
};

/// Runs `plan` on paper over samples that arrive one an interval; those of a pattern of several
/// together, as the papers draw them. Fails as Simulate() does. REQUIRES: one cost a stage.
[[nodiscard]] absl::StatusOr<std::vector<TimelineEvent>> SimulatedEvents(
    const Plan& plan, const std::vector<StageCost>& costs, double interval, int samples);

/// The copies that follow `events`: forwards' to the stage after, backwards' to the one before,
/// where `costs` say that they take time.
[[nodiscard]] std::vector<CopyEvent> CopiesOf(const Plan& plan, const std::vector<StageCost>& costs,
                                              const std::vector<TimelineEvent>& events);

/// When the last of them ends; 0 of none.
[[nodiscard]] double LastEnd(const std::vector<TimelineEvent>& events);

/// Samples enough to see a plan fill and then repeat its pattern a few times.
[[nodiscard]] int SamplesToDraw(const Plan& plan);

/// When to stop drawing them: every stage has updated, and `patterns` patterns have passed since.
[[nodiscard]] double EndOfDrawing(const Plan& plan, const std::vector<TimelineEvent>& events,
                                  double interval, int patterns);

}  // namespace millrace::pipeline
