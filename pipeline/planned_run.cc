#include "pipeline/planned_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/status.h"
#include "pipeline/median.h"
#include "pipeline/versions_read.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// The events of samples from `first` up to `end` (not included), numbered from `first`.
std::vector<TimelineEvent> Part(const std::vector<TimelineEvent>& events, std::int64_t first,
                                std::int64_t end) {
  std::vector<TimelineEvent> part;
  for (TimelineEvent event : events) {
    if (event.step.first < first || event.step.first >= end) continue;
    event.step.first -= first;
    event.step.last -= first;
    part.push_back(event);
  }
  return part;
}

// Simulates what `recorded` holds of one plan, whose stream has `samples` samples.
absl::StatusOr<std::vector<TimelineEvent>> PlannedPart(const Plan& plan,
                                                       const std::vector<TimelineEvent>& recorded,
                                                       std::int64_t samples) {
  std::int64_t last = 0;
  std::map<std::size_t, std::int64_t> left;  // Operations of each device that are still to come.
  for (const TimelineEvent& event : recorded) {
    last = std::max(last, event.step.last);
    ++left[event.device];
  }
  // Where the record ends before the stream, its end is not that of the stream.
  const std::int64_t enough = std::min(samples, last + 1 + SamplesToDraw(plan));
  MILLRACE_ASSIGN_OR_RETURN(
      std::vector<TimelineEvent> events,
      SimulatedEvents(plan, CostsIn(recorded, plan), /*interval=*/0, static_cast<int>(enough)));
  std::erase_if(events, [&](const TimelineEvent& event) { return left[event.device]-- <= 0; });
  return events;
}

}  // namespace

std::vector<StageCost> CostsIn(const std::vector<TimelineEvent>& events, const Plan& plan) {
  const VersionsRead reads(plan);
  const std::size_t stages = plan.stages.size();
  std::array<std::vector<std::vector<double>>, kOperationKinds> times;
  for (auto& of_kind : times) of_kind.resize(stages);
  std::vector<StageCost> costs(stages);
  // Forwards first: a backward may hold one.
  for (const OperationKind kind : {kForward, kBackward, kUpdate}) {
    auto& of_kind = times[static_cast<int>(kind)];
    for (const TimelineEvent& event : events) {
      if (event.step.kind != kind) continue;
      const std::size_t stage = event.step.stage - 1;
      double time = event.span.end - event.span.start;
      if (kind != kUpdate) time /= static_cast<double>(event.step.samples());
      const bool again =
          kind == kBackward && reads.keeps(event.step.stage, event.step.first) == Keeps::kInputs;
      of_kind[stage].push_back(std::max(0.0, again ? time - costs[stage].forward : time));
    }
    for (std::size_t i = 0; i < stages; ++i) {
      double& cost = kind == kForward    ? costs[i].forward
                     : kind == kBackward ? costs[i].backward
                                         : costs[i].update;
      cost = Median(of_kind[i]);
    }
  }
  return costs;
}

absl::StatusOr<std::vector<TimelineEvent>> PlannedEvents(const Phases& phases,
                                                         const std::vector<TimelineEvent>& recorded,
                                                         std::int64_t samples) {
  std::vector<TimelineEvent> planned;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::int64_t first = phases[i].first_sample;
    const std::int64_t end = i + 1 < phases.size() ? phases[i + 1].first_sample : samples;
    const std::vector<TimelineEvent> part = Part(recorded, first, end);
    if (part.empty()) break;
    MILLRACE_ASSIGN_OR_RETURN(const std::vector<TimelineEvent> events,
                              PlannedPart(phases[i].plan, part, std::min(end, samples) - first));
    const double begin = LastEnd(planned);  // The phase before has drained.
    for (TimelineEvent event : events) {
      event.step.first += first;
      event.step.last += first;
      event.span = {event.span.start + begin, event.span.end + begin};
      planned.push_back(event);
    }
  }
  return planned;
}

}  // namespace millrace::pipeline
