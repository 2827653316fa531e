#include "pipeline/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan_checker.h"
#include "pipeline/simulator.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// One row of the table in docs/architecture.md: equal stages, F = 1, B = 2, U = 0.
struct Row {
  const char* schedule;
  int stages;
  double period;  // one_f_one_b_star's T.
  double least_period;
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
      {"one_f_one_b_star", 4, 3, 3, 4, {4, 3, 2, 1}, zeros4, {3, 2, 1, 0}},
      {"one_f_one_b_star", 4, 6, 6, 4, {2, 2, 1, 1}, zeros4, {1, 1, 0, 0}},
      {"one_f_one_b_star", 4, 12, 12, 4, ones4, zeros4, zeros4},
      {"partime", 8, 0, 3, 8, std::vector<int>(8, 1), Counting(14, -2, 8), Counting(14, -2, 8)},
      {"one_f_one_b_star", 8, 3, 3, 8, Counting(8, -1, 8), std::vector<int>(8, 0),
       Counting(7, -1, 8)},
  };
}

TEST(SchedulesTest, FiguresAreThoseOfTheTable) {
  for (const Row& row : Table()) {
    SCOPED_TRACE(testing::Message()
                 << row.schedule << ", " << row.stages << " stages, T = " << row.period);
    const std::vector<StageCost> costs(row.stages, {.forward = 1, .backward = 2, .update = 0});
    const Plan plan =
        *MakePlan(row.schedule, {.stages = row.stages, .skips = {}}, costs, row.period);
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
    EXPECT_DOUBLE_EQ(*SteadyPeriod(plan, costs), row.least_period);
    EXPECT_DOUBLE_EQ(*SteadyDelay(plan, costs, row.least_period), row.delay);
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
      const Plan plan = *MakePlan(name, shape, costs, 0);
      EXPECT_TRUE(CheckPlan(plan).ok()) << name << ", " << stages << " stages";
      const double expected = name == "sequential" ? 3 * stages + 0.5 : 3.5;
      EXPECT_DOUBLE_EQ(*SteadyPeriod(plan, costs), expected)
          << name << ", " << stages << " stages: skips must not slow a pipeline down";
    }
  }
}

TEST(SchedulesTest, AGroupHasRoomForTheUpdateOfItsFirstStageOnly) {
  // Both stages' forwards and backwards and one update take 7: the last stage updates meanwhile.
  const std::vector<StageCost> costs(2, {.forward = 1, .backward = 2, .update = 1});
  const PipelineShape shape{.stages = 2, .skips = {}};
  EXPECT_EQ(OneFOneBStar(shape, costs, 7).rules(1).slots, 1);
  EXPECT_EQ(OneFOneBStar(shape, costs, 6.9).rules(1).slots, 2);
  EXPECT_DOUBLE_EQ(*SteadyPeriod(OneFOneBStar(shape, costs, 7), costs), 7);
}

TEST(SchedulesTest, AnUnknownNameIsRefusedWithThoseThereAre) {
  const auto plan = MakePlan("gpipes", {.stages = 2, .skips = {}}, {}, 0);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().message(), HasSubstr("gpipes"));
  EXPECT_THAT(plan.status().message(), HasSubstr("sequential, partime, one_f_one_b_star"));
}

}  // namespace
}  // namespace millrace::pipeline
