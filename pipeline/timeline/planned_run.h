// The simulation of a recorded run: its plan, with its measured costs.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// The cost of one sample in each stage of `plan`, first stage first: medians over `events`, whose
/// samples are numbered from the plan's first. A forward that runs again counts as a forward. An
/// operation that did not happen costs 0.
[[nodiscard]] std::vector<StageCost> CostsIn(const std::vector<TimelineEvent>& events,
                                             const Plan& plan);

/// Simulates the operations of `recorded`: each phase with the costs of its own part, samples
/// always ready. `samples` is the length of the stream. `recorded` comes from EventsOf(), and may
/// end earlier. Fails as Simulate() does.
[[nodiscard]] absl::StatusOr<std::vector<TimelineEvent>> PlannedEvents(
    const Phases& phases, const std::vector<TimelineEvent>& recorded, std::int64_t samples);

}  // namespace millrace::pipeline
