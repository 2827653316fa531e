// The plans must have the properties that Beaumont, Eyraud-Dubois and Shilova prove for 1F1B*,
// k-periodic patterns and placements that are not contiguous.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/steady_state.h"
#include "tests/pipeline/support/plan_figures.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

// A 1-periodic plan whose stage h has NCA slots[h-1].
Plan WithSlots(const ScheduleRequest& request, const std::vector<int>& slots) {
  Plan plan = *MakePlan("sequential", request);
  for (int i = 0; i < plan.stage_count(); ++i) {
    plan.stages[i].slots = slots[i];
    plan.devices[i][0].shift = slots[0] - slots[i];
    plan.devices[i][1].shift = plan.devices[i][2].shift = slots[0] - 1;
  }
  return plan;
}

void ForAllSlots(int stages, int max, const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> slots(stages, 1);
  for (;;) {
    visit(slots);
    int i = 0;
    while (i < stages && ++slots[i] > max) slots[i++] = 1;
    if (i == stages) return;
  }
}

// No 1-periodic plan that keeps the period of `request` has fewer slots anywhere than 1F1B* has.
void ExpectLeastSlots(const ScheduleRequest& request) {
  const Plan star = *MakePlan("one_f_one_b_star", request);
  const std::vector<int> best = FiguresOf(star, &StageFigures::slots);
  EXPECT_LE(SteadyPeriod(star, request.costs), request.period + 1e-9);
  const int max = std::max(best.front(), request.shape.stages);
  ForAllSlots(request.shape.stages, max, [&](const std::vector<int>& slots) {
    if (!std::is_sorted(slots.rbegin(), slots.rend())) return;  // Lemma 1's first line.
    const Plan plan = WithSlots(request, slots);
    if (SteadyPeriod(plan, request.costs) > request.period + 1e-9) return;
    for (std::size_t i = 0; i < slots.size(); ++i) EXPECT_LE(best[i], slots[i]);
  });
}

// Stages of random costs, and a period between the shortest one and that of a serial run.
ScheduleRequest RandomRequest(int stages, int max_copy, std::mt19937& random) {
  ScheduleRequest request = EqualStages(stages);
  double all = 0;
  for (StageCost& cost : request.costs) {
    const auto below = [&](int end) { return static_cast<double>(random() % end); };
    cost = {.forward = 1 + below(4),
            .backward = 1 + below(6),
            .update = below(3) / 2,
            .copy = max_copy > 0 ? below(2 * max_copy + 1) / 2 : 0};
    all += cost.total();
  }
  const double min_period = MinPeriod(request.costs);
  request.period = min_period + (all - min_period) * static_cast<double>(random() % 5) / 4;
  return request;
}

// Theorem 3, by brute force: where F, B and U of a stage follow each other in every period, a
// 1-periodic pattern is told by its NCAs; none that keeps the period has fewer anywhere.
TEST(OneFOneBStarTest, HasTheLeastNcaOfAllOnePeriodicPatterns) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    ExpectLeastSlots(RandomRequest(3 + round % 2, 0, random));
  }
}

// Copies are resources of their own: up to as long as the longest stage they cost lag, not rate.
TEST(OneFOneBStarTest, HasTheLeastNcaWhereCopiesTakeTime) {
  std::mt19937 random(8);
  for (int round = 0; round < 60; ++round) ExpectLeastSlots(RandomRequest(3, 3, random));
}

// Section 5.1: groups are numbered from the end, and NCA is the group's number.
// The rule for whole backwards alone: a stage that has been away for `away` waits for the next
// period unless all its operations fit.
std::vector<int> StarLags(const std::vector<StageCost>& costs, double period) {
  std::vector<int> lags(costs.size());
  double away = 0;
  for (std::size_t i = costs.size() - 1; i-- > 0;) {
    away += costs[i + 1].forward + costs[i + 1].backward + 2 * costs[i].copy;
    lags[i] = static_cast<int>(std::floor(away / period + 1e-9));
    if (away - lags[i] * period + costs[i].total() <= period * (1 + 1e-9)) continue;
    away = ++lags[i] * period;
  }
  return lags;
}

TEST(OneFOneBStarTest, FollowsItsRuleWhereSomeOperationsCostNothing) {
  std::mt19937 random(8);
  const auto some = [&] { return static_cast<double>(random() % 4) / 10; };
  for (int run = 0; run < 5000; ++run) {
    ScheduleRequest request = EqualStages(2 + run % 4);
    for (StageCost& cost : request.costs) {
      cost = {.forward = 0.1 + some(), .backward = some(), .update = some(), .copy = some()};
    }
    request.period = MinPeriod(request.costs) * (1 + some());
    const Plan plan = *MakePlan("one_f_one_b_star", request);
    const std::vector<int> lags = StarLags(request.costs, request.period);
    for (std::size_t i = 0; i < lags.size(); ++i) {
      EXPECT_EQ(plan.rules(static_cast<int>(i) + 1).slots, lags[i] + 1) << run;
      EXPECT_EQ(plan.devices[i][1].shift - plan.devices[i][0].shift, lags[i]) << run;
    }
  }
}

TEST(OneFOneBStarTest, NcaIsTheNumberOfTheGroup) {
  ScheduleRequest request = EqualStages(6);
  request.period = 6;  // Two stages fit into a group.
  EXPECT_THAT(FiguresOf(*MakePlan("one_f_one_b_star", request), &StageFigures::slots),
              ElementsAre(3, 3, 2, 2, 1, 1));
}

// Where each group is one stage, it is PipeDream's 1F1B.
TEST(OneFOneBStarTest, IsOneFOneBWhenEachGroupIsAStage) {
  const Plan star = *MakePlan("one_f_one_b_star", EqualStages(4));
  const Plan pipedream = *MakePlan("pipedream", EqualStages(4));
  ASSERT_EQ(star.devices.size(), pipedream.devices.size());
  for (std::size_t i = 0; i < star.devices.size(); ++i) {
    for (std::size_t j = 0; j < star.devices[i].size(); ++j) {
      EXPECT_EQ(star.devices[i][j].kind, pipedream.devices[i][j].kind);
      EXPECT_EQ(star.devices[i][j].shift, pipedream.devices[i][j].shift);
    }
  }
}

// Theorem 4: P = k + 1 layers of F = B = 1; NCA_1 = k, NCA_{l+1} <= k + 1 - l, period 2(1 + 1/k).
TEST(KPeriodicTest, KeepsFewerSlotsAtTheTheoremsPeriod) {
  for (int k = 1; k <= 6; ++k) {
    ScheduleRequest request = EqualStages(k + 1, {.forward = 1, .backward = 1});
    request.samples = k;
    const Plan plan = *MakePlan("k_periodic", request);
    const std::vector<int> slots = FiguresOf(plan, &StageFigures::slots);
    EXPECT_EQ(slots.front(), k);
    for (int l = 1; l <= k; ++l) EXPECT_LE(slots[l], k + 1 - l);
    EXPECT_NEAR(SteadyPeriod(plan, request.costs), 2 * (1 + 1.0 / k), 1e-9) << "k = " << k;
  }
}

// Section 6.1: costs 1, 2, 1 on two devices have period 2 when the first and the last share one.
TEST(InterleavedTest, TheirExampleHasPeriodTwo) {
  ScheduleRequest request = EqualStages(3, {.forward = 1.0 / 3, .backward = 2.0 / 3});
  request.costs[1] = {.forward = 2.0 / 3, .backward = 4.0 / 3};
  request.device_of = {0, 1, 0};
  const Plan plan = *MakePlan("interleaved", request);
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan).status();
  EXPECT_NEAR(SteadyPeriod(plan, request.costs), 2, 1e-9);
  EXPECT_THAT(Steady(plan, request.costs, 2).idle, Each(Le(1e-9)));
}

TEST(InterleavedTest, RunsAnyPlacement) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const int stages = 1 + static_cast<int>(random() % 7);
    ScheduleRequest request = EqualStages(stages);
    for (StageCost& cost : request.costs) {
      const auto below = [&](int end) { return static_cast<double>(random() % end); };
      cost = {.forward = 1 + below(5), .backward = 1 + below(9), .update = below(3) / 2};
      request.device_of.push_back(static_cast<int>(random() % 3));
    }
    const auto plan = MakePlan("interleaved", request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan).status();
  }
}

}  // namespace
}  // namespace millrace::pipeline
