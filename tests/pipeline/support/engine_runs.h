// How tests run a plan: in the engine with random pauses, and serially as the oracle.
#pragma once

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "pipeline/engine/engine.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/schedules/schedules.h"
#include "tests/pipeline/support/fake_stages.h"
#include "tests/pipeline/support/without_bounds.h"

namespace millrace::pipeline {

// A random short pause, so that the threads meet in every order there is.
inline void Jitter() {
  thread_local std::mt19937 random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
}

// A pipeline with skips over one stage, and one from the first to the last.
inline PipelineShape ShapeWithSkips(int stages) {
  PipelineShape shape{.stages = stages, .skips = {}};
  for (int from = 1; from + 2 <= stages; ++from) shape.skips.push_back({from, from + 2});
  if (stages > 3) shape.skips.push_back({1, stages});
  return shape;
}

// Equal stages: forward 1, backward 2, half of it for the weights.
inline ScheduleRequest RequestOf(PipelineShape shape) {
  const std::vector<StageCost> costs(shape.stages, kAssumedCost);
  return {.shape = std::move(shape), .costs = costs};
}

inline Plan PlanOf(const std::string& schedule, int stages) {
  return *MakePlan(schedule, RequestOf(ShapeWithSkips(stages)));
}

inline void Serially(const Plan& plan, int samples, FakeStages& stages) {
  for (int sample = 0; sample < samples; ++sample) stages.Admit(sample);
  RunSerially(plan, samples, [&](const Step& step) { stages.Run(step); });
}

/// `run` runs the steps; `stages` only admits.
inline absl::Status InTheEngine(const Plan& plan, int samples, FakeStages& stages,
                                const std::function<void(const Step&)>& run) {
  auto engine = Engine::Start({.plan = plan,
                               .run =
                                   [&](const Step& step) {
                                     Jitter();
                                     run(step);
                                     Jitter();
                                     return true;
                                   },
                               .on_worker_start = {}});
  if (!engine.ok()) return engine.status();
  for (int sample = 0; sample < samples; ++sample) {
    const auto number = (*engine)->Admit([&](std::int64_t n) { stages.Admit(n); });
    if (!number.ok()) return number.status();
    EXPECT_EQ(*number, sample);
  }
  return (*engine)->Drain();
}

inline absl::Status InTheEngine(const Plan& plan, int samples, FakeStages& stages) {
  return InTheEngine(plan, samples, stages, [&](const Step& step) { stages.Run(step); });
}

}  // namespace millrace::pipeline
