// A split backward is worth having where a period has room.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/steady_state.h"
#include "pipeline/schedules/building_blocks.h"
#include "tests/pipeline/support/plan_figures.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;

// Updates between each stage's forward of a sample and the update by it.
std::vector<int> LagsOf(const Plan& plan) {
  std::vector<int> lags = FiguresOf(plan, &StageFigures::staleness);
  const std::vector<int> ages = FiguresOf(plan, &StageFigures::gradient_age);
  for (std::size_t i = 0; i < lags.size(); ++i) lags[i] += ages[i];
  return lags;
}

std::vector<int> LagsOf(const std::string& schedule, ScheduleRequest request, double period) {
  request.period = period;
  return LagsOf(*MakePlan(schedule, request));
}

int Sum(const std::vector<int>& values) { return std::accumulate(values.begin(), values.end(), 0); }

TEST(OneFOneBOneWTest, HasShorterLagsAtThreeQuartersOfTheLoad) {
  EXPECT_THAT(LagsOf("one_f_one_b_star", EqualStages(4), 4), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(LagsOf("one_f_one_b_one_w", EqualStages(4), 4), ElementsAre(2, 1, 1, 0));
  EXPECT_THAT(LagsOf("one_f_one_b_star", EqualStages(8), 4), ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(LagsOf("one_f_one_b_one_w", EqualStages(8), 4), ElementsAre(4, 3, 3, 2, 2, 1, 1, 0));
}

TEST(OneFOneBOneWTest, ItsPictureIsRight) {
  ScheduleRequest request = EqualStages(4);
  request.period = 4;
  EXPECT_EQ(PatternText(*MakePlan("one_f_one_b_one_w", request)),
            "  device 0   F1(0) W1(0)-2 U1(0)-2 B1(0)-1\n"
            "  device 1   F2(0) B2(0)-1 W2(0)-1 U2(0)-1\n"
            "  device 2   F3(0)-1 W3(0)-2 U3(0)-2 B3(0)-1\n"
            "  device 3   F4(0)-1 B4(0)-1 W4(0)-1 U4(0)-1\n");
}

TEST(OneFOneBOneWTest, IsNoBetterAtFullLoad) {
  for (int stages = 1; stages <= 8; ++stages) {
    EXPECT_EQ(LagsOf("one_f_one_b_one_w", EqualStages(stages), 3),
              LagsOf("one_f_one_b_star", EqualStages(stages), 3));
  }
}

ScheduleRequest RandomRequest(int stages, int max_copy, std::mt19937& random) {
  const auto up_to = [&](int max) { return static_cast<double>(random() % (max + 1)); };
  ScheduleRequest request = EqualStages(stages);
  for (StageCost& cost : request.costs) {
    cost = {.forward = 1 + up_to(4),
            .update = up_to(1),
            .copy = up_to(max_copy),
            .weight_gradient = up_to(4)};
    cost.backward = 1 + up_to(4) + cost.weight_gradient;
  }
  request.period = MinPeriod(request.costs) * (1 + up_to(10) / 10);
  return request;
}

TEST(OneFOneBOneWTest, KeepsThePeriodWithNoLongerLagThanWithoutTheSplit) {
  std::mt19937 random(3);
  int better = 0;
  for (int run = 0; run < 1000; ++run) {
    const ScheduleRequest request = RandomRequest(1 + run % 8, run % 3, random);
    const Plan split = *MakePlan("one_f_one_b_one_w", request);
    EXPECT_LE(SteadyPeriod(split, request.costs), request.period * (1 + 1e-9)) << run;
    const std::vector<int> lags = LagsOf(split);
    const std::vector<int> whole = LagsOf("one_f_one_b_star", request, request.period);
    for (std::size_t i = 0; i < lags.size(); ++i) EXPECT_LE(lags[i], whole[i]) << run;
    better += Sum(lags) < Sum(whole) ? 1 : 0;
  }
  EXPECT_GT(better, 100);
}

// A plan whose stage h has these lags, and its weight gradient a period later where `late`.
Plan WithLags(const ScheduleRequest& request, const std::vector<int>& lags,
              const std::vector<bool>& late) {
  const int max = *std::ranges::max_element(lags);
  std::vector<StageTiming> timings;
  for (std::size_t i = 0; i < lags.size(); ++i) {
    timings.push_back({.forward_shift = max - lags[i],
                       .backward_shift = max,
                       .rules = {.splits_backward = true},
                       .weight_gradient_shift = max + (late[i] ? 1 : 0)});
  }
  Plan plan = OneDeviceAStage("by hand", request.shape, timings);
  SizeStages(plan);
  return plan;
}

// The oracle: every order of three stages with F first, up to a lag of 3.
TEST(OneFOneBOneWTest, HasTheLeastLagsOfItsKind) {
  std::mt19937 random(5);
  for (int run = 0; run < 30; ++run) {
    const ScheduleRequest request = RandomRequest(3, run % 2, random);
    const int found = Sum(LagsOf("one_f_one_b_one_w", request, request.period));
    for (int way = 0; way < 8 * 8 * 8; ++way) {
      const std::vector<int> ways = {way / 64, way / 8 % 8, way % 8};
      std::vector<int> lags;
      std::vector<bool> late;
      for (int of_stage : ways) {
        lags.push_back(of_stage / 2);
        late.push_back(of_stage % 2 == 1);
      }
      const Plan plan = WithLags(request, lags, late);
      if (!CheckPlan(plan).ok()) continue;
      if (SteadyPeriod(plan, request.costs) > request.period * (1 + 1e-9)) continue;
      EXPECT_GE(Sum(LagsOf(plan)), found) << run << ", way " << way;
    }
  }
}

// The sum of the lags at a load, for F = B = W: the table of docs/schedules.md.
TEST(OneFOneBOneWTest, GainsAsItsTableSays) {
  struct Row {
    double load;
    std::vector<int> whole;
    std::vector<int> split;
  };
  const std::vector<int> stages = {2, 4, 8};
  for (const Row& row : {Row{1, {1, 6, 28}, {1, 6, 28}}, Row{0.77, {1, 6, 28}, {1, 6, 28}},
                         Row{0.75, {1, 6, 28}, {1, 4, 16}}, Row{0.65, {1, 6, 28}, {1, 4, 16}},
                         Row{0.6, {1, 6, 28}, {0, 2, 12}}, Row{0.5, {0, 2, 12}, {0, 2, 9}}}) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      SCOPED_TRACE(testing::Message() << row.load << ", " << stages[i] << " stages");
      const ScheduleRequest request = EqualStages(stages[i]);
      EXPECT_EQ(Sum(LagsOf("one_f_one_b_star", request, 3 / row.load)), row.whole[i]);
      EXPECT_EQ(Sum(LagsOf("one_f_one_b_one_w", request, 3 / row.load)), row.split[i]);
    }
  }
}

TEST(OneFOneBOneWTest, WithoutAPeriodToPlanForEachStageIsAGroup) {
  std::mt19937 random(1);
  for (int run = 0; run < 20; ++run) {
    const ScheduleRequest request = RandomRequest(4, /*max_copy=*/0, random);
    EXPECT_THAT(LagsOf("one_f_one_b_one_w", request, kEachStageAGroup), ElementsAre(3, 2, 1, 0));
  }
}

TEST(OneFOneBOneWTest, IsOneFOneBStarWhereNothingCanComeLater) {
  for (double period : {3.0, 4.0, 6.0, 12.0}) {
    const ScheduleRequest request = EqualStages(4, {.forward = 1, .backward = 2});
    EXPECT_EQ(LagsOf("one_f_one_b_one_w", request, period),
              LagsOf("one_f_one_b_star", request, period));
  }
}

}  // namespace
}  // namespace millrace::pipeline
