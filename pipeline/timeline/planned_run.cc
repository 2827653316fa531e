#include "pipeline/timeline/planned_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/median.h"
#include "base/status.h"
#include "pipeline/plan/versions_read.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// The events of samples from `first` up to `end` (not included), renumbered from `first`.
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

// Simulates the operations of `recorded` under one plan. The plan's stream has `samples` samples.
absl::StatusOr<std::vector<TimelineEvent>> PlannedPart(const Plan& plan,
                                                       const std::vector<TimelineEvent>& recorded,
                                                       std::int64_t samples) {
  std::int64_t last = 0;
  std::map<std::size_t, std::int64_t> left;  // Remaining operations of each device.
  for (const TimelineEvent& event : recorded) {
    last = std::max(last, event.step.last);
    ++left[event.device];
  }
  // If the record ends before the stream, the simulation must not drain at the record's end.
  const std::int64_t enough = std::min(samples, last + 1 + SamplesToDraw(plan));
  MILLRACE_ASSIGN_OR_RETURN(
      std::vector<TimelineEvent> events,
      SimulatedEvents(plan, CostsIn(recorded, plan), /*interval=*/0, static_cast<int>(enough)));
  std::erase_if(events, [&](const TimelineEvent& event) { return left[event.device]-- <= 0; });
  return events;
}

double& CostOfKind(StageCost& cost, OperationKind kind) {
  switch (kind) {
    case kForward:
      return cost.forward;
    case kBackward:
      return cost.backward;
    case kWeightGradient:
      return cost.weight_gradient;
    case kUpdate:
      break;
  }
  return cost.update;
}

// The time of one sample in `event`, without the forward that a backward may run again.
double TimeOf(const TimelineEvent& event, const VersionsRead& reads, double forward) {
  const double time = event.span.end - event.span.start;
  if (event.step.kind == kUpdate) return time;
  const double of_a_sample = time / static_cast<double>(event.step.samples());
  const bool again = event.step.kind == kBackward &&
                     reads.keeps(event.step.stage, event.step.first) == Keeps::kInputs;
  return again ? std::max(0.0, of_a_sample - forward) : of_a_sample;
}

}  // namespace

std::vector<StageCost> CostsIn(const std::vector<TimelineEvent>& events, const Plan& plan) {
  const VersionsRead reads(plan);
  std::vector<StageCost> costs(plan.stages.size());
  // Forwards first: a backward may run one again.
  for (const OperationKind kind : {kForward, kBackward, kWeightGradient, kUpdate}) {
    std::vector<std::vector<double>> times(costs.size());
    for (const TimelineEvent& event : events) {
      if (event.step.kind != kind) continue;
      const std::size_t stage = event.step.stage - 1;
      times[stage].push_back(TimeOf(event, reads, costs[stage].forward));
    }
    for (std::size_t i = 0; i < costs.size(); ++i) CostOfKind(costs[i], kind) = Median(times[i]);
  }
  for (StageCost& cost : costs) cost.backward += cost.weight_gradient;
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
