#include "pipeline/planner/live_simulation.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/engine_runs.h"

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

// Of every schedule that keeps to one plan, at and beyond its load.
TEST(LiveSimulationTest, SamplesRiseAndNoneIsPredictedBeforeItCouldBe) {
  for (const std::string& schedule : ScheduleNames()) {
    if (schedule == "hybrid") continue;
    const int stages = schedule == "sequential" ? 1 : 4;
    const Plan plan = PlanWithout(schedule, stages);
    for (const double load : {0.5, 1.0, 3.0}) {
      LiveOptions options = Behind(stages, load);
      options.frames = 101;  // No whole number of patterns.
      const auto samples = SimulateSamples(plan, options);
      ASSERT_TRUE(samples.ok()) << schedule << ": " << samples.status();
      ASSERT_FALSE(samples->empty()) << schedule;
      const LiveSample* before = nullptr;
      for (const LiveSample& sample : *samples) {
        EXPECT_LT(sample.frame, 101) << schedule;
        const double forwards = plan.stage_count();  // Of 1 each.
        EXPECT_GE(sample.predicted + 1e-9,
                  static_cast<double>(sample.frame) * options.interval + forwards)
            << schedule << " at " << load << ", frame " << sample.frame;
        if (before != nullptr) {
          EXPECT_GT(sample.frame, before->frame) << schedule;
          EXPECT_GE(sample.predicted, before->predicted) << schedule << ": in their order";
        }
        before = &sample;
      }
      EXPECT_EQ(samples->front().frame, 0) << schedule;
      EXPECT_GE(samples->back().frame, 100 - 1) << schedule << ": the queue keeps the freshest two";
    }
  }
}

TEST(LiveSimulationTest, FiguresAreThoseOfTheSamples) {
  for (const double load : {0.9, 1.0, 2.0}) {
    LiveOptions options = Behind(4, load);
    options.spread = 0.2;
    options.frames = 1000;
    const Plan plan = PlanWithout("one_f_one_b_star", 4);
    const auto samples = SimulateSamples(plan, options);
    const auto figures = SimulateLive(plan, options);
    ASSERT_TRUE(samples.ok() && figures.ok());
    std::vector<double> delays;
    for (const LiveSample& sample : *samples) {
      if (sample.frame < 100) continue;
      delays.push_back(sample.predicted - static_cast<double>(sample.frame) * options.interval);
    }
    const auto counted = static_cast<double>(delays.size());
    EXPECT_NEAR(figures->dropped_share, (900 - counted) / 900, 1e-12) << load;
    EXPECT_NEAR(figures->mean_delay, std::accumulate(delays.begin(), delays.end(), 0.0) / counted,
                1e-9);
    std::sort(delays.begin(), delays.end());
    EXPECT_EQ(figures->p50_delay, delays[delays.size() / 2]);
    EXPECT_EQ(figures->p99_delay, delays[delays.size() * 99 / 100]);
  }
}

TEST(LiveSimulationTest, ASeedDrawsTheSameSpreadAgain) {
  LiveOptions options = Behind(4, 1.0);
  options.spread = 0.2;
  options.frames = 200;
  const Plan plan = PlanWithout("partime", 4);
  const auto once = SimulateSamples(plan, options);
  const auto again = SimulateSamples(plan, options);
  options.seed = 2;
  const auto other = SimulateSamples(plan, options);
  ASSERT_TRUE(once.ok() && again.ok() && other.ok());
  ASSERT_EQ(once->size(), again->size());
  for (std::size_t i = 0; i < once->size(); ++i) {
    EXPECT_EQ((*once)[i].predicted, (*again)[i].predicted);
  }
  EXPECT_NE(once->back().predicted, other->back().predicted);
}

TEST(LiveSimulationTest, WithoutFramesThereAreNoSamples) {
  LiveOptions options = Behind(4, 1.0);
  options.frames = 0;
  const auto samples = SimulateSamples(PlanWithout("one_f_one_b_star", 4), options);
  ASSERT_TRUE(samples.ok());
  EXPECT_TRUE(samples->empty());
}

}  // namespace
}  // namespace millrace::pipeline
