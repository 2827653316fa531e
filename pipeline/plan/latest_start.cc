#include "pipeline/plan/latest_start.h"

#include <algorithm>

namespace millrace::pipeline {

using enum OperationKind;

namespace {

// An upper bound of the samples in flight: each is in a channel or kept by a stage.
std::size_t MaxInside(const Plan& plan) {
  int most = plan.samples_per_pattern;
  for (const Channel& channel : plan.channels) most += channel.slots + channel.gradient_slots;
  for (const StageRules& stage : plan.stages) most += stage.slots;
  return most;
}

}  // namespace

LatestStart::LatestStart(const Plan& plan, const Dependencies& dependencies)
    : plan_(plan), dependencies_(dependencies), before_(plan), progress_(plan) {
  for (auto& by_stage : ends_) {
    by_stage.resize(plan.stage_count() + 1);
    for (std::vector<double>& ends : by_stage) ends.reserve(MaxInside(plan));
  }
}

double LatestStart::From(const PipelineState& state, double now) {
  Restart(state, now);
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      while (Advance(state, d)) moved = true;
    }
  }
  const std::int64_t next_sample = before_.done(kForward, 0);
  double latest = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].at.order().empty()) continue;
    const Step step = devices_[d].at.step();
    if (step.kind != kForward || step.first > next_sample) continue;
    latest = std::max(latest, free_at_[d] - ForwardsBefore(state.costs, step.stage));
  }
  return latest;
}

void LatestStart::Restart(const PipelineState& state, double now) {
  before_ = state.progress;
  progress_ = state.progress;
  devices_ = state.devices;
  for (auto& by_stage : ends_) {
    for (std::vector<double>& ends : by_stage) ends.clear();
  }
  free_at_.assign(devices_.size(), now);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const DeviceState& device = devices_[d];
    if (!device.running_since) continue;
    free_at_[d] = std::max(now, *device.running_since + state.means[d][device.at.place()]);
    Finish(d);
  }
}

// Runs the device's next operation, if all its dependencies have run or will run.
bool LatestStart::Advance(const PipelineState& state, std::size_t d) {
  const PlanCursor& at = devices_[d].at;
  if (at.order().empty()) return false;
  if (!at.filling()) {
    const auto dependencies = dependencies_.of(d, at.place());
    if (!progress_.Meets(dependencies, at.pattern())) return false;
    double start = free_at_[d];
    for (const Dependency& dependency : dependencies) {
      start = std::max(start, EndOf(dependency, at.pattern()));
    }
    free_at_[d] = start + state.means[d][at.place()];
  }
  Finish(d);
  return true;
}

void LatestStart::Finish(std::size_t d) {
  PlanCursor& at = devices_[d].at;
  if (!at.filling()) {
    const Step step = at.step();
    std::vector<double>& ends = ends_[static_cast<int>(step.kind)][step.stage];
    ends.insert(ends.end(), step.samples(), free_at_[d]);
    progress_.Complete(step);
  }
  at.Next();
}

// The end of the operation that `dependency` waits for; 0 if it has ended.
double LatestStart::EndOf(const Dependency& dependency, std::int64_t pattern) const {
  const std::int64_t position = dependency.samples + pattern * plan_.samples_per_pattern;
  const std::int64_t index = position - before_.passed(dependency.kind, dependency.stage) - 1;
  const std::vector<double>& ends = ends_[static_cast<int>(dependency.kind)][dependency.stage];
  return index >= 0 && index < std::ssize(ends) ? ends[index] : 0;
}

}  // namespace millrace::pipeline
