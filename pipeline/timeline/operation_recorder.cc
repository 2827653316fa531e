#include "pipeline/timeline/operation_recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

double Milliseconds(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

OperationRecorder::OperationRecorder(std::size_t max_operations, const Clock& clock)
    : max_operations_(max_operations), clock_(clock) {
  MILLRACE_CHECK(max_operations > 0);
}

void OperationRecorder::Begin(const Plan& plan, std::int64_t first_sample) {
  samples_per_pattern_ = plan.samples_per_pattern;
  first_sample_ = first_sample;
  for (auto& by_stage : device_of_) {
    by_stage.assign(plan.stage_count() + 1, std::vector<std::size_t>(samples_per_pattern_));
  }
  for (std::size_t device = 0; device < plan.devices.size(); ++device) {
    for (const Operation& operation : plan.devices[device]) {
      device_of_[static_cast<int>(operation.kind)][operation.stage].at(operation.first) = device;
    }
  }
  if (tracks_.size() < plan.devices.size()) tracks_.resize(plan.devices.size());
  for (Track& track : tracks_) track.entries.resize(max_operations_);
}

RunStep OperationRecorder::Recording(RunStep run) {
  return [this, run = std::move(run)](const Step& step) {
    const nanoseconds start = clock_.Now();
    run(step);
    Note(step, start, clock_.Now());
  };
}

void OperationRecorder::Note(Step step, nanoseconds start, nanoseconds end) {
  const std::size_t device =
      device_of_[static_cast<int>(step.kind)][step.stage][step.first % samples_per_pattern_];
  Track& track = tracks_[device];
  if (track.used == max_operations_) {
    ++track.left_out;
    return;
  }
  step.first += first_sample_;
  step.last += first_sample_;
  track.entries[track.used++] = {step, start, end};
}

std::vector<TimelineEvent> OperationRecorder::events() const {
  nanoseconds first = nanoseconds::max();
  for (const Track& track : tracks_) {
    if (track.used > 0) first = std::min(first, track.entries.front().start);
  }
  std::vector<TimelineEvent> events;
  for (std::size_t device = 0; device < tracks_.size(); ++device) {
    for (std::size_t i = 0; i < tracks_[device].used; ++i) {
      const Entry& entry = tracks_[device].entries[i];
      events.push_back({device,
                        entry.step,
                        {Milliseconds(entry.start - first), Milliseconds(entry.end - first)}});
    }
  }
  return events;
}

std::int64_t OperationRecorder::left_out() const {
  std::int64_t left_out = 0;
  for (const Track& track : tracks_) left_out += track.left_out;
  return left_out;
}

}  // namespace millrace::pipeline
