// Events on devices, with their times. Drawings and traces are made from them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/simulator.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// One operation, simulated or real.
struct TimelineEvent {
  std::size_t device = 0;
  Step step;
  Span span;
};

/// The copy of an operation's product to another device.
struct CopyEvent {
  std::size_t from_device = 0;
  /// Copies the activations of its stage, or the gradient for the stage before.
  Step step;
  Span span;
};

/// The events of a run. Times are milliseconds since the start of the first operation.
[[nodiscard]] std::vector<TimelineEvent> EventsOf(const std::vector<PastOperation>& operations);

/// Simulates `plan` with one sample arriving each interval. The samples of one pattern arrive
/// together, as in the papers' drawings. Fails as Simulate() does. REQUIRES: one cost for each
/// stage.
[[nodiscard]] absl::StatusOr<std::vector<TimelineEvent>> SimulatedEvents(
    const Plan& plan, const std::vector<StageCost>& costs, double interval, int samples);

/// The copies that follow `events` to other devices, on links (copies.h): of activations forward,
/// and of gradients back. Only copies with a cost in `costs`.
[[nodiscard]] std::vector<CopyEvent> CopiesOf(const Plan& plan, const std::vector<StageCost>& costs,
                                              const std::vector<TimelineEvent>& events);

/// The end of the last event; 0 if there are no events.
[[nodiscard]] double LastEnd(const std::vector<TimelineEvent>& events);

/// The number of samples that shows how a plan fills and then repeats its pattern a few times.
[[nodiscard]] int SamplesToDraw(const Plan& plan);

/// The end of a drawing: every stage has updated, and then `patterns` patterns have passed.
[[nodiscard]] double EndOfDrawing(const Plan& plan, const std::vector<TimelineEvent>& events,
                                  double interval, int patterns);

}  // namespace millrace::pipeline
