#include "pipeline/timeline/timeline_event.h"

#include <algorithm>
#include <chrono>

#include "base/status.h"
#include "pipeline/plan/copies.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {

using enum OperationKind;

std::vector<TimelineEvent> EventsOf(const std::vector<PastOperation>& operations) {
  nanoseconds begin = nanoseconds::max();
  for (const PastOperation& operation : operations) begin = std::min(begin, operation.start);
  const auto at = [begin](nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time - begin).count();
  };
  std::vector<TimelineEvent> events;
  events.reserve(operations.size());
  for (const auto& [device, step, start, end] : operations) {
    events.push_back({device, step, {at(start), at(end)}});
  }
  return events;
}

absl::StatusOr<std::vector<TimelineEvent>> SimulatedEvents(const Plan& plan,
                                                           const std::vector<StageCost>& costs,
                                                           double interval, int samples) {
  std::vector<double> arrivals(samples);
  for (int i = 0; i < samples; ++i) {
    const int first_of_pattern = i - i % plan.samples_per_pattern;
    arrivals[i] = first_of_pattern * interval;
  }
  std::vector<TimelineEvent> events;
  MILLRACE_RETURN_IF_ERROR(
      Simulate(plan, {.costs = costs,
                      .arrivals = std::move(arrivals),
                      .observe =
                          [&](std::size_t device, const Step& step, Span span) {
                            events.push_back({device, step, span});
                          }})
          .status());
  return events;
}

std::vector<CopyEvent> CopiesOf(const Plan& plan, const std::vector<StageCost>& costs,
                                const std::vector<TimelineEvent>& events) {
  const DeviceCopies made(plan, costs);
  LinkTimes links(made);
  std::vector<TimelineEvent> in_time = events;
  std::ranges::stable_sort(in_time, {}, [](const TimelineEvent& event) { return event.span.end; });
  std::vector<CopyEvent> copies;
  for (const TimelineEvent& event : in_time) {
    for (const std::size_t place : made.of(event.step.kind, event.step.stage)) {
      const auto [start, end] =
          links.Carry(made.all()[place], event.span.end, event.step.samples());
      copies.push_back({event.device, event.step, {start, end}});
    }
  }
  return copies;
}

double LastEnd(const std::vector<TimelineEvent>& events) {
  double end = 0;
  for (const TimelineEvent& event : events) end = std::max(end, event.span.end);
  return end;
}

int SamplesToDraw(const Plan& plan) {
  const int patterns = 2 * (MaxShift(plan) + plan.stage_count() / plan.samples_per_pattern) + 12;
  return patterns * plan.samples_per_pattern;
}

double EndOfDrawing(const Plan& plan, const std::vector<TimelineEvent>& events, double interval,
                    int patterns) {
  std::vector<double> first_update(plan.stage_count() + 1, -1);
  for (const TimelineEvent& event : events) {
    double& first = first_update[event.step.stage];
    if (event.step.kind == kUpdate && first < 0) first = event.span.end;
  }
  const double filled = *std::max_element(first_update.begin(), first_update.end());
  return filled + patterns * plan.samples_per_pattern * interval;
}

}  // namespace millrace::pipeline
