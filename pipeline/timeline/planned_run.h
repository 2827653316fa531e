// What a recorded run should have looked like: its plan on paper, with the costs that it had.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/stage_cost.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// What one sample cost each stage of `plan`, first stage first: medians over `events`, whose
/// samples are numbered from the plan's first. A forward that is run again counts as a forward.
/// What did not happen costs nothing.
[[nodiscard]] std::vector<StageCost> CostsIn(const std::vector<TimelineEvent>& events,
                                             const Plan& plan);

/// The operations of `recorded`, simulated: each phase with the costs of its own part, samples
/// always ready. `samples` is how long the stream was; `recorded` is as RunRecorder gives it, and
/// may end earlier. Fails as Simulate() does.
[[nodiscard]] absl::StatusOr<std::vector<TimelineEvent>> PlannedEvents(
    const Phases& phases, const std::vector<TimelineEvent>& recorded, std::int64_t samples);

}  // namespace millrace::pipeline
