#include "pipeline/schedules/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/steady_state.h"
#include "tests/pipeline/support/engine_runs.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// The figures of one schedule: equal stages, F = 1, B = 2, U = 0.
struct Row {
  const char* schedule;
  int stages;
  double period;  // one_f_one_b_star's T.
  double min_period;
  double delay;
  std::vector<int> slots;
  std::vector<int> mismatch;
  std::vector<int> staleness;
};

std::vector<int> Counting(int from, int step, int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(from + i * step);
  return numbers;
}

std::vector<Row> Table() {
  const std::vector<int> zeros4(4, 0);
  const std::vector<int> ones4(4, 1);
  return {
      {"sequential", 4, 0, 12, 4, ones4, zeros4, zeros4},
      {"partime", 4, 0, 3, 4, ones4, {6, 4, 2, 0}, {6, 4, 2, 0}},
      {"stale", 4, 0, 3, 4, {7, 5, 3, 1}, zeros4, {6, 4, 2, 0}},
      {"one_f_one_b_star", 4, 3, 3, 4, {4, 3, 2, 1}, zeros4, {3, 2, 1, 0}},
      {"one_f_one_b_star", 4, 6, 6, 4, {2, 2, 1, 1}, zeros4, {1, 1, 0, 0}},
      {"one_f_one_b_star", 4, 12, 12, 4, ones4, zeros4, zeros4},
      {"one_f_one_b_one_w", 4, 3, 3, 4, {4, 3, 2, 1}, zeros4, {3, 2, 1, 0}},
      {"one_f_one_b_one_w", 4, 4, 4, 4, {3, 2, 2, 1}, zeros4, {2, 1, 1, 0}},
      {"delayed", 4, 0, 12, 4, {4, 4, 4, 4}, zeros4, {3, 3, 3, 3}},
      {"partime", 8, 0, 3, 8, std::vector<int>(8, 1), Counting(14, -2, 8), Counting(14, -2, 8)},
      {"one_f_one_b_star", 8, 3, 3, 8, Counting(8, -1, 8), std::vector<int>(8, 0),
       Counting(7, -1, 8)},
  };
}

TEST(SchedulesTest, FiguresAreThoseOfTheTable) {
  for (const Row& row : Table()) {
    SCOPED_TRACE(testing::Message()
                 << row.schedule << ", " << row.stages << " stages, T = " << row.period);
    const std::vector<StageCost> costs(row.stages, kAssumedCost);
    ScheduleRequest request = RequestOf({.stages = row.stages, .skips = {}});
    request.period = row.period;
    const Plan plan = *MakePlan(row.schedule, request);
    const auto figures = CheckPlan(plan);
    ASSERT_TRUE(figures.ok()) << figures.status();
    std::vector<int> slots, mismatch, staleness;
    for (const StageFigures& stage : *figures) {
      slots.push_back(stage.slots);
      mismatch.push_back(stage.mismatch);
      staleness.push_back(stage.staleness);
    }
    EXPECT_THAT(slots, ElementsAreArray(row.slots));
    EXPECT_THAT(mismatch, ElementsAreArray(row.mismatch));
    EXPECT_THAT(staleness, ElementsAreArray(row.staleness));
    EXPECT_DOUBLE_EQ(SteadyPeriod(plan, costs), row.min_period);
    EXPECT_DOUBLE_EQ(Steady(plan, costs, row.min_period).delay, row.delay);
  }
}

TEST(SchedulesTest, EveryScheduleRunsWithSkipsAcrossEveryCut) {
  for (int stages = 1; stages <= 8; ++stages) {
    PipelineShape shape{.stages = stages, .skips = {}};
    for (int from = 1; from <= stages; ++from) {
      for (int to = from + 1; to <= stages; ++to) shape.skips.push_back({from, to});
    }
    const std::vector<StageCost> costs(stages, {.forward = 1, .backward = 2, .update = 0.5});
    for (const std::string& name : ScheduleNames()) {
      const auto with = MakePlan(name, {.shape = shape, .costs = costs});
      ASSERT_TRUE(with.ok()) << with.status();
      EXPECT_TRUE(CheckPlan(*with).ok()) << name << ": " << CheckPlan(*with).status();
      const Plan without =
          *MakePlan(name, {.shape = {.stages = stages, .skips = {}}, .costs = costs});
      EXPECT_DOUBLE_EQ(SteadyPeriod(*with, costs), SteadyPeriod(without, costs))
          << name << ", " << stages << " stages: skips must not slow a pipeline down";
    }
  }
}

TEST(SchedulesTest, AGroupHasRoomForTheUpdateOfItsFirstStageOnly) {
  // Both stages' forwards and backwards and one update take 7: the last stage updates meanwhile.
  const std::vector<StageCost> costs(2, {.forward = 1, .backward = 2, .update = 1});
  const auto plan = [&](double period) {
    return *MakePlan("one_f_one_b_star",
                     {.shape = {.stages = 2, .skips = {}}, .costs = costs, .period = period});
  };
  EXPECT_EQ(plan(7).rules(1).slots, 1);
  EXPECT_EQ(plan(6.9).rules(1).slots, 2);
  EXPECT_DOUBLE_EQ(SteadyPeriod(plan(7), costs), 7);
}

TEST(SchedulesTest, AnUnknownNameIsRefusedWithThoseThereAre) {
  const auto plan = MakePlan("gpipes", RequestOf({.stages = 2, .skips = {}}));
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().message(), HasSubstr("gpipes"));
  EXPECT_THAT(plan.status().message(),
              HasSubstr("sequential, one_f_one_b_star, one_f_one_b_one_w"));
}

TEST(SchedulesTest, AStreamThatGoesOnBeginsInThePhaseOfItsNextSample) {
  ScheduleRequest request = RequestOf(ShapeWithSkips(3));
  request.switch_at = 25;
  const Phases phases = *MakePhases("hybrid", request);
  const auto begins = [&](std::int64_t first) {
    const Phases left = PhasesFrom(phases, first);
    return std::pair(left.size(), left.front().plan.schedule);
  };
  EXPECT_EQ(begins(0), std::pair(std::size_t{2}, phases[0].plan.schedule));
  EXPECT_EQ(begins(24), std::pair(std::size_t{2}, phases[0].plan.schedule));
  EXPECT_EQ(begins(25), std::pair(std::size_t{1}, phases[1].plan.schedule));
  EXPECT_EQ(PhasesFrom(phases, 24).front().first_sample, 24);
  EXPECT_EQ(PhasesFrom(phases, 300).front().first_sample, 300);
}

}  // namespace
}  // namespace millrace::pipeline
