// A plan for RunSerially(), which never waits for room.
#pragma once

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// `plan` with room for `samples` samples in every channel and stage, and for as many versions of
/// the weights. So no operation ever waits for room.
[[nodiscard]] inline Plan WithoutBounds(Plan plan, int samples) {
  for (StageRules& rules : plan.stages) rules.slots = rules.versions = samples + 1;
  for (Channel& channel : plan.channels) channel.slots = channel.gradient_slots = samples;
  return plan;
}

}  // namespace millrace::pipeline
