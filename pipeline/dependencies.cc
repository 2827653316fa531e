#include "pipeline/dependencies.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

// Appends a need, unless every stream meets it from the start.
void Add(std::vector<Need>& needs, OperationKind kind, int stage, std::int64_t samples) {
  if (samples > 0) needs.push_back({kind, stage, samples});
}

void AddForward(const Plan& plan, const Step& step, std::vector<Need>& needs) {
  for (const Channel& channel : plan.channels) {
    if (channel.to == step.stage) Add(needs, kForward, channel.from, step.last + 1);
    if (channel.from == step.stage) {
      Add(needs, kForward, channel.to, step.last + 1 - channel.slots);
    }
  }
  if (step.stage == 0) return;
  const StageRules& rules = plan.rules(step.stage);
  Add(needs, kBackward, step.stage, step.last + 1 - rules.slots - rules.lead);
}

void AddBackward(const Plan& plan, const Step& step, std::vector<Need>& needs) {
  Add(needs, kForward, step.stage, step.last + 1 + plan.rules(step.stage).lead);
  for (const Channel& channel : plan.channels) {
    if (channel.from == step.stage) Add(needs, kBackward, channel.to, step.last + 1);
    if (channel.to == step.stage && channel.from > 0) {
      Add(needs, kBackward, channel.from, step.last + 1 - channel.gradient_slots);
    }
  }
}

}  // namespace

std::vector<Need> NeedsOf(const Plan& plan, const Step& step) {
  std::vector<Need> needs;
  switch (step.kind) {
    case kForward:
      AddForward(plan, step, needs);
      break;
    case kBackward:
      AddBackward(plan, step, needs);
      break;
    case kUpdate:
      Add(needs, kBackward, step.stage, step.last + 1);
      break;
  }
  return needs;
}

Progress::Progress(const Plan& plan) {
  for (auto& by_stage : done_) by_stage.assign(plan.stage_count() + 1, 0);
}

void Progress::Complete(const Step& step) {
  std::int64_t& done = done_[static_cast<int>(step.kind)][step.stage];
  MILLRACE_CHECK(done == step.first);
  done = step.last + 1;
}

bool Progress::Meets(const std::vector<Need>& needs) const {
  return std::all_of(needs.begin(), needs.end(), [this](const Need& need) {
    return done(need.kind, need.stage) >= need.samples;
  });
}

}  // namespace millrace::pipeline
