#include "pipeline/live_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/engine_runs.h"

namespace millrace::pipeline {
namespace {

LiveOptions Behind(int stages, double load) {
  const ScheduleRequest request = RequestOf({.stages = stages, .skips = {}});
  return {.costs = request.costs, .interval = 3 / load};
}

Plan PlanWithout(const std::string& schedule, int stages) {
  return *MakePlan(schedule, RequestOf({.stages = stages, .skips = {}}));
}

TEST(LiveSimulationTest, WithoutSpreadAFullLoadDropsNothing) {
  const auto figures = SimulateLive(PlanWithout("one_f_one_b_star", 4), Behind(4, 1.0));
  ASSERT_TRUE(figures.ok());
  EXPECT_EQ(figures->dropped_share, 0);
  EXPECT_NEAR(figures->mean_delay, 4, 1e-6);
}

TEST(LiveSimulationTest, WhatIsTooSlowDropsTheRest) {
  // Sequential learning takes 12 where a frame comes every 3.
  const auto figures = SimulateLive(PlanWithout("sequential", 4), Behind(4, 1.0));
  ASSERT_TRUE(figures.ok());
  EXPECT_NEAR(figures->dropped_share, 0.75, 0.01);
}

// What 1F1B pays for half the staleness is slack: with a spread of 20 % it drops frames at a full
// load, where partime, whose stages are twice as far apart, drops few.
TEST(LiveSimulationTest, PartimeHasMoreSlackThanOneFOneB) {
  LiveOptions options = Behind(4, 1.0);
  options.spread = 0.2;
  const auto partime = SimulateLive(PlanWithout("partime", 4), options);
  const auto star = SimulateLive(PlanWithout("one_f_one_b_star", 4), options);
  ASSERT_TRUE(partime.ok() && star.ok());
  EXPECT_LT(partime->dropped_share, 0.05);
  EXPECT_GT(star->dropped_share, 0.08);
  EXPECT_LT(star->dropped_share, 0.16);
}

TEST(LiveSimulationTest, AGateShortensTheDelayAndKeepsTheRate) {
  for (const char* schedule : {"partime", "one_f_one_b_star"}) {
    for (double load : {0.8, 0.9, 1.0}) {
      const Plan plan = PlanWithout(schedule, 4);
      LiveOptions options = Behind(4, load);
      options.spread = 0.2;
      const auto without = SimulateLive(plan, options);
      const auto margin = FindGateMargin(plan, options);
      ASSERT_TRUE(without.ok() && margin.ok());
      options.gate_margin = *margin;
      const auto with = SimulateLive(plan, options);
      EXPECT_LE(with->dropped_share, without->dropped_share + 1e-3) << schedule << load;
      EXPECT_LE(with->mean_delay, without->mean_delay * 1.001) << schedule << load;
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
