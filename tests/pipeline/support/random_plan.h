// Plans that no schedule makes.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "pipeline/plan/plan.h"
#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {

// Any order of the operations of up to four stages, on any devices, with any shifts and slots.
inline Plan RandomPlan(std::mt19937& random) {
  using enum OperationKind;
  const auto up_to = [&](int max) { return static_cast<int>(random() % (max + 1)); };
  const int stages = 1 + up_to(3);
  Plan plan = PlanOf("sequential", stages);
  plan.schedule = "random";
  for (Channel& channel : plan.channels) {
    channel.slots = 1 + up_to(3);
    channel.gradient_slots = 1 + up_to(3);
  }
  // By device: operations that stay together.
  std::vector<std::vector<std::vector<Operation>>> orders(1 + up_to(stages - 1));
  for (int stage = 1; stage <= stages; ++stage) {
    plan.stages[stage - 1].slots = 1 + up_to(4);
    const int forward = up_to(3);
    const int backward = forward + up_to(3);
    auto& order = orders[up_to(static_cast<int>(orders.size()) - 1)];
    order.push_back({{.kind = kForward, .stage = stage, .shift = forward}});
    const Operation b = {.kind = kBackward, .stage = stage, .shift = backward};
    Operation w = {.kind = kWeightGradient, .stage = stage, .shift = backward};
    Operation u = {.kind = kUpdate, .stage = stage, .shift = backward + up_to(1)};
    switch (up_to(3)) {
      case 0:
        plan.stages[stage - 1].splits_backward = true;
        order.push_back({b, w});
        order.push_back({u});
        break;
      case 1:  // Only forwards may come between a backward and its weight gradient.
        plan.stages[stage - 1].splits_backward = true;
        w.shift = u.shift = backward + 1;
        order.push_back({w, u, b});
        break;
      default:
        order.push_back({b});
        order.push_back({u});
    }
  }
  plan.devices.clear();
  for (auto& order : orders) {
    if (order.empty()) continue;
    std::shuffle(order.begin(), order.end(), random);
    auto& of_device = plan.devices.emplace_back();
    for (const auto& together : order) {
      of_device.insert(of_device.end(), together.begin(), together.end());
    }
  }
  return plan;
}

}  // namespace millrace::pipeline
