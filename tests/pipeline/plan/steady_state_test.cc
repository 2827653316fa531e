// The exact period and delay, compared with long simulations of random plans, and with loads.
#include "pipeline/plan/steady_state.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/copies.h"
#include "pipeline/plan/simulator.h"
#include "tests/pipeline/support/engine_runs.h"
#include "tests/pipeline/support/plan_figures.h"

namespace millrace::pipeline {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// In patterns. The window is a multiple of 1 to 8, the lengths with which such plans repeat. It
// begins after the transient, and ends before the plan drains.
constexpr int kSimulated = 1300;
constexpr int kWindowBegin = 360;
constexpr int kWindowEnd = kWindowBegin + 840;

// Costs that are whole numbers, so that sums are exact.
std::vector<StageCost> RandomCosts(int stages, std::mt19937& random) {
  std::vector<StageCost> costs(stages);
  const bool copies = random() % 2 == 0;
  for (StageCost& cost : costs) {
    const auto below = [&](int end) { return static_cast<double>(random() % end); };
    cost = {.forward = 1 + below(6),
            .backward = 1 + below(9),
            .update = below(4),
            .copy = copies ? below(8) : 0};
  }
  return costs;
}

// A schedule for 1 to 5 stages, with skips or without, on a random placement where it allows one.
Plan RandomPlan(const std::string& name, const std::vector<StageCost>& costs,
                std::mt19937& random) {
  const int stages = static_cast<int>(costs.size());
  ScheduleRequest request{
      .shape = random() % 2 == 0 ? ShapeWithSkips(stages) : PipelineShape{.stages = stages},
      .costs = costs};
  if (name == "interleaved") {
    for (int i = 0; i < stages; ++i) request.device_of.push_back(static_cast<int>(random() % 2));
    if (std::ranges::find(request.device_of, 0) == request.device_of.end()) {
      request.device_of.front() = 0;
    }
  }
  request.separate_backwards = name == "stale" && random() % 2 == 0;
  auto plan = MakePlan(name, request);
  EXPECT_TRUE(plan.ok()) << name << ": " << plan.status();
  return *std::move(plan);
}

std::vector<double> ArrivalsEvery(double interval, int samples) {
  std::vector<double> arrivals(samples);
  for (int i = 0; i < samples; ++i) arrivals[i] = i * interval;
  return arrivals;
}

// The mean period in the window.
double SimulatedPeriod(const Plan& plan, const std::vector<StageCost>& costs) {
  const int k = plan.samples_per_pattern;
  const auto timeline =
      Simulate(plan, {.costs = costs, .arrivals = ArrivalsEvery(0, kSimulated * k)});
  const std::vector<Span>& predicted = timeline->predictions();
  const double time = predicted[kWindowEnd * k].end - predicted[kWindowBegin * k].end;
  return time / ((kWindowEnd - kWindowBegin) * k);
}

double SimulatedDelay(const Plan& plan, const std::vector<StageCost>& costs, double interval) {
  const int k = plan.samples_per_pattern;
  const auto timeline =
      Simulate(plan, {.costs = costs, .arrivals = ArrivalsEvery(interval, kSimulated * k)});
  double delay = 0;
  for (int i = kWindowEnd * k; i < (kWindowEnd + 1) * k; ++i) {
    delay += (timeline->predictions()[i].end - i * interval) / k;
  }
  return delay;
}

// The load of each device, by sample.
std::vector<double> DeviceLoads(const Plan& plan, const std::vector<StageCost>& costs) {
  std::vector<double> loads;
  for (const auto& order : plan.devices) {
    loads.push_back(0);
    for (const Operation& operation : order) {
      loads.back() +=
          CostOf(plan, operation, costs[operation.stage - 1]) / plan.samples_per_pattern;
    }
  }
  return loads;
}

TEST(SteadyStateTest, EqualsLongSimulationsOfEverySchedule) {
  std::mt19937 random(5);
  for (const std::string& name : ScheduleNames()) {
    for (int round = 0; round < 12; ++round) {
      const std::vector<StageCost> costs = RandomCosts(1 + round % 5, random);
      const Plan plan = RandomPlan(name, costs, random);
      SCOPED_TRACE(name + ", " + std::to_string(costs.size()) + " stages\n" + PatternText(plan));
      const double period = SteadyPeriod(plan, costs);
      EXPECT_NEAR(SimulatedPeriod(plan, costs), period, 1e-9 * period);
      EXPECT_DOUBLE_EQ(Steady(plan, costs, 0).period, period);
      for (const double interval : {period, 1.25 * period}) {
        EXPECT_NEAR(SimulatedDelay(plan, costs, interval), Steady(plan, costs, interval).delay,
                    1e-6 * interval);
      }
    }
  }
}

TEST(SteadyStateTest, NeverBelowTheLoadOfADeviceOrALink) {
  std::mt19937 random(6);
  for (const std::string& name : ScheduleNames()) {
    for (int round = 0; round < 100; ++round) {
      const std::vector<StageCost> costs = RandomCosts(1 + round % 6, random);
      const Plan plan = RandomPlan(name, costs, random);
      const SteadyFigures steady = Steady(plan, costs, 0);
      const std::vector<double> loads = DeviceLoads(plan, costs);
      for (std::size_t device = 0; device < loads.size(); ++device) {
        EXPECT_GE(steady.period, loads[device] * (1 - 1e-12)) << name;
        EXPECT_NEAR(steady.idle[device], 1 - loads[device] / steady.period, 1e-12) << name;
        EXPECT_GE(steady.idle[device], 0) << name;
      }
      for (std::size_t stage = 0; stage + 1 < costs.size(); ++stage) {
        if (name == "interleaved") continue;  // Neighbours may be on the same device.
        EXPECT_GE(steady.period, costs[stage].copy * (1 - 1e-12)) << name;
      }
    }
  }
}

// Neither slots nor copies limit these, so the busiest device always works.
TEST(SteadyStateTest, IsTheLoadOfTheBusiestDeviceWhereNothingElseLimits) {
  std::mt19937 random(7);
  for (const std::string name : {"partime", "pipedream", "recompute", "one_f_one_b_star"}) {
    for (int round = 0; round < 100; ++round) {
      std::vector<StageCost> costs = RandomCosts(1 + round % 6, random);
      for (StageCost& cost : costs) cost.copy = 0;
      const ScheduleRequest request{.shape = {.stages = static_cast<int>(costs.size())},
                                    .costs = costs,
                                    .period = MinPeriod(costs)};
      const Plan plan = *MakePlan(name, request);
      EXPECT_DOUBLE_EQ(SteadyPeriod(plan, costs), std::ranges::max(DeviceLoads(plan, costs)))
          << name << "\n"
          << PatternText(plan);
    }
  }
}

TEST(SteadyStateTest, ASlowerCameraSetsThePeriod) {
  const std::vector<StageCost> equal(4, {.forward = 1, .backward = 2});
  const Plan plan = *MakePlan("sequential", RequestOf({.stages = 4, .skips = {}}));
  EXPECT_DOUBLE_EQ(SteadyPeriod(plan, equal), 12);
  const SteadyFigures steady = Steady(plan, equal, 15);
  EXPECT_DOUBLE_EQ(steady.period, 15);
  EXPECT_DOUBLE_EQ(steady.delay, 4);
  EXPECT_THAT(steady.idle, ElementsAre(0.8, 0.8, 0.8, 0.8));
}

// F1 2, B1 2, F2 1, B2 1; a copy takes 5. The link is the slowest part, if enough samples are on
// their way: one needs 2 + 5 + 1 + 1 + 5 + 2 = 16.
TEST(SteadyStateTest, ALinkCarriesOneCopyAtATime) {
  const std::vector<StageCost> costs = {{.forward = 2, .backward = 2, .copy = 5},
                                        {.forward = 1, .backward = 1}};
  ScheduleRequest request{.shape = {.stages = 2}, .costs = costs};
  request.period = 5;
  const Plan star = *MakePlan("one_f_one_b_star", request);
  EXPECT_DOUBLE_EQ(MinPeriod(costs), 5);
  EXPECT_DOUBLE_EQ(SteadyPeriod(star, costs), 5);
  EXPECT_DOUBLE_EQ(Steady(star, costs, 5).delay, 2 + 5 + 1);
  // One sample at a time: it goes there and back.
  EXPECT_DOUBLE_EQ(SteadyPeriod(*MakePlan("sequential", request), costs), 16);
}

// Both cuts lead from device 0 to device 1 and share the link; the third one leads back.
TEST(SteadyStateTest, CutsBetweenTheSameDevicesShareALink) {
  std::vector<StageCost> costs(4, {.forward = 1, .backward = 1, .copy = 6});
  ScheduleRequest request{.shape = {.stages = 4}, .costs = costs, .device_of = {0, 1, 0, 1}};
  const Plan plan = *MakePlan("interleaved", request);
  EXPECT_THAT(DeviceCopies(plan, costs).loads(),
              ElementsAre(DoubleNear(18, 1e-12), DoubleNear(18, 1e-12)));
  EXPECT_GE(SteadyPeriod(plan, costs), 18);
}

TEST(DeviceCopiesTest, NothingIsCopiedWithinADevice) {
  const std::vector<StageCost> costs(2, {.forward = 1, .backward = 1, .copy = 6});
  ScheduleRequest request{.shape = {.stages = 2}, .costs = costs, .device_of = {0, 0}};
  const Plan plan = *MakePlan("interleaved", request);
  EXPECT_TRUE(DeviceCopies(plan, costs).all().empty());
  EXPECT_DOUBLE_EQ(SteadyPeriod(plan, costs), 4);
}

}  // namespace
}  // namespace millrace::pipeline
