// A running engine allocates nothing for a sample: it makes all of its memory at the start.
#include <gtest/gtest.h>

#include "pipeline/engine/engine.h"
#include "pipeline/engine/run_history.h"
#include "tests/pipeline/support/counted_allocations.h"
#include "tests/pipeline/support/plan_figures.h"

namespace millrace::pipeline {
namespace {

// Of `samples` samples, after as many that warm the engine up.
std::int64_t AllocationsOf(const std::string& schedule, int samples) {
  ScheduleRequest request = EqualStages(3, {.forward = 1e-6, .backward = 2e-6});
  RunHistory history;
  const Plan plan = *MakePlan(schedule, request);
  auto engine = *Engine::Start({.plan = plan,
                                .run = [](const Step& /*step*/) { return true; },
                                .observers = {history.Observer(plan.devices.size())}});
  std::int64_t before = 0;
  for (int i = 0; i < 2 * samples; ++i) {
    if (i == samples) before = Allocations();
    EXPECT_TRUE(engine->AwaitRoom().ok());
    EXPECT_TRUE(engine->Admit([](std::int64_t /*sample*/) {}).ok());
  }
  const std::int64_t after = Allocations();
  EXPECT_TRUE(engine->Drain().ok());
  return after - before;
}

TEST(EngineAllocationsTest, ThereAreNoneWhileSamplesRun) {
  for (const std::string& schedule : ScheduleNames()) {
    EXPECT_EQ(AllocationsOf(schedule, 3000), 0) << schedule;
  }
}

}  // namespace
}  // namespace millrace::pipeline
