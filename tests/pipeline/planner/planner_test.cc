#include "pipeline/planner/planner.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "pipeline/plan/plan_checker.h"
#include "pipeline/plan/steady_state.h"
#include "pipeline/planner/plan_memory.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Eight equal layers: 12 to learn from a sample on one device.
PlannerRequest Request(double interval, int devices) {
  return {.layers = std::vector<LayerProfile>(
              8, {.name = "conv", .cost = {.forward = 0.5, .backward = 1.0}}),
          .interval = interval,
          .devices = devices};
}

TEST(PlannerTest, LearnsSequentiallyWhereOneDeviceKeepsUp) {
  const auto planned = PlanFor(Request(/*interval=*/20, /*devices=*/4));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->staleness, 0);
  EXPECT_TRUE(planned->holds);
  EXPECT_EQ(planned->effort.update_every, 1);
}

TEST(PlannerTest, PipelinesAsLittleAsTheRateAllows) {
  int before = 0;
  for (double interval : {20.0, 9.0, 5.5, 4.0}) {
    const auto planned = PlanFor(Request(interval, 4));
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_TRUE(planned->holds) << interval;
    EXPECT_EQ(planned->effort.update_every, 1) << interval;
    EXPECT_LE(planned->dropped_share, 0.005) << interval;
    EXPECT_GE(planned->staleness, before) << "a shorter interval needs no less staleness";
    before = planned->staleness;
    EXPECT_TRUE(CheckPlan(planned->plan).ok());
  }
  EXPECT_GT(before, 0);
}

TEST(PlannerTest, MoreSpreadNeedsMoreSlack) {
  PlannerRequest request = Request(3.5, 4);
  request.spread = 0;
  const auto steady = PlanFor(request);
  request.spread = 0.25;
  const auto rough = PlanFor(request);
  ASSERT_TRUE(steady.ok() && rough.ok());
  EXPECT_GE(rough->staleness, steady->staleness);
}

// At nine tenths of the load that four devices bear, with the jitter of a busy machine.
TEST(PlannerTest, KeepsTheDelayWithMoreStaleness) {
  PlannerRequest request = Request(/*interval=*/3 / 0.9, /*devices=*/4);
  request.spread = 0.2;
  const auto planned = PlanFor(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->effort.update_every, 1);
  EXPECT_LE(planned->dropped_share, 0.005);
  EXPECT_LE(planned->tail, 1.1 * kToleratedTail);
  EXPECT_GT(planned->staleness, 3) << "1F1B holds the rate at a lower load only";
  EXPECT_LE(planned->staleness, 6);
}

// A copy takes longer than any stage's work, so cuts that need it cannot hold the rate.
TEST(PlannerTest, ALinkThatIsTooSlowIsNotCut) {
  PlannerRequest request = Request(/*interval=*/6.5, /*devices=*/2);
  for (LayerProfile& layer : request.layers) layer.cost.copy = 7;
  const auto slow = PlanFor(request);
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_EQ(slow->plan.stage_count(), 1);
  EXPECT_EQ(slow->effort.update_every, 4) << "one device: 4 to predict, 8 more to learn";
  request.layers[2].cost.copy = 1;
  const auto around = PlanFor(request);
  ASSERT_TRUE(around.ok()) << around.status();
  EXPECT_THAT(around->cuts, ElementsAre(3));
}

// The rate that a plan is found for and the one that it is said to have are the same.
TEST(PlannerTest, AHeldRateIsNotShorterThanTheSteadyPeriod) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    PlannerRequest request{.devices = 2 + trial % 3, .spread = 0};
    const auto below = [&](double end) {
      return end * static_cast<double>(random() % 1000) / 1000;
    };
    double work = 0;
    for (int i = 0; i < 6; ++i) {
      request.layers.push_back({.name = "l",
                                .cost = {.forward = 1 + below(4),
                                         .backward = 1 + below(8),
                                         .update = below(1),
                                         .copy = trial % 2 == 0 ? 0 : below(12)}});
      work += request.layers.back().cost.total();
    }
    request.interval = work / request.devices * (1 + below(1));
    const auto planned = PlanFor(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const double period = SteadyPeriod(planned->plan, planned->costs);
    EXPECT_EQ(planned->holds, period <= request.interval * (1 + kToleratedDrops))
        << period << " for " << request.interval;
  }
}

TEST(PlannerTest, GivesUpLearningBeforeFrames) {
  const auto planned = PlanFor(Request(/*interval=*/2, /*devices=*/4));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->holds);
  EXPECT_GT(planned->effort.update_every, 1);
}

TEST(PlannerTest, PredictsOnlyWhereNoLearningFits) {
  const auto planned = PlanFor(Request(/*interval=*/1.2, /*devices=*/4));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_NE(planned->effort.update_every, 1);
  EXPECT_TRUE(planned->holds);
}

TEST(PlannerTest, SaysWhenNothingHolds) {
  const auto planned = PlanFor(Request(/*interval=*/0.3, /*devices=*/4));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->holds);
  EXPECT_EQ(planned->effort.update_every, 0);
  EXPECT_GT(planned->dropped_share, 0.3);
}

TEST(PlannerTest, NamesTheLayerThatLimits) {
  PlannerRequest request = Request(20, 4);
  request.layers[5].cost = {.forward = 4, .backward = 8};
  const auto planned = PlanFor(request);
  ASSERT_TRUE(planned.ok());
  EXPECT_THAT(planned->limit, HasSubstr("layer 5 alone takes 12 of the 22.5 ms"));
  EXPECT_THAT(planned->limit, HasSubstr("1.88"));
}

// 8 layers that keep 10 bytes of a sample: 80 on one device, learning one by one.
PlannerRequest RequestWithBytes(double interval, int devices, double memory_bytes) {
  PlannerRequest request = Request(interval, devices);
  for (LayerProfile& layer : request.layers) layer.activation_bytes = 10;
  request.memory_bytes = memory_bytes;
  return request;
}

double MaxBytes(const PlannerRequest& request, const PlannedPipeline& planned) {
  return std::ranges::max(DeviceBytes(planned.plan, request.layers, planned.cuts));
}

// At 65 % of the load of four devices.
PlannerRequest SplitRequest() {
  PlannerRequest request = Request(/*interval=*/4.6, /*devices=*/4);
  for (LayerProfile& layer : request.layers) layer.cost.weight_gradient = 0.5;
  return request;
}

TEST(PlannerTest, SplitsBackwardsWhereThatMeansLessStaleness) {
  const auto split = PlanFor(SplitRequest());
  const auto whole = PlanFor(Request(4.6, 4));
  ASSERT_TRUE(split.ok() && whole.ok());
  EXPECT_EQ(whole->plan.schedule, "auto: one_f_one_b_star");
  EXPECT_EQ(split->plan.schedule, "auto: one_f_one_b_one_w");
  EXPECT_EQ(split->staleness, 2);
  EXPECT_EQ(whole->staleness, 3);
  EXPECT_TRUE(split->holds);
  EXPECT_LE(split->dropped_share, kToleratedDrops);
  PlannerRequest one_device = SplitRequest();
  one_device.interval = 20;
  EXPECT_EQ(PlanFor(one_device)->plan.schedule, "auto: one_f_one_b_star");
}

TEST(PlannerTest, UsesMoreDevicesWhereFewerHaveTooLittleMemory) {
  EXPECT_TRUE(PlanFor(RequestWithBytes(20, 1, 80)).ok());
  const PlannerRequest tight = RequestWithBytes(20, 4, 20);
  const auto spread = PlanFor(tight);
  ASSERT_TRUE(spread.ok()) << spread.status();
  EXPECT_EQ(spread->plan.stage_count(), 4);
  EXPECT_EQ(spread->staleness, 0) << "more staleness would need more memory";
  EXPECT_LE(MaxBytes(tight, *spread), 20);
}

// The first of two stages keeps two samples: four layers of it do not fit.
TEST(PlannerTest, CutsForWhatThePlanHolds) {
  const PlannerRequest tight = RequestWithBytes(/*interval=*/10, /*devices=*/2, 60);
  const auto planned = PlanFor(tight);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_GT(planned->staleness, 0);
  EXPECT_THAT(planned->cuts, ElementsAre(3));
  EXPECT_LE(MaxBytes(tight, *planned), 60);
}

TEST(PlannerTest, SaysWhereTheMemoryIsTooLittle) {
  const absl::Status alone = PlanFor(RequestWithBytes(20, 4, 9)).status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(alone.message(), HasSubstr("layer 0 (conv) needs 10 bytes"));
  const absl::Status together = PlanFor(RequestWithBytes(20, 2, 30)).status();
  EXPECT_THAT(together.message(), HasSubstr("3 devices would do"));
}

// "the fullest needs 40 bytes at least"
int MinBytesIn(const absl::Status& refused) {
  const std::string message(refused.message());
  int min_bytes = 0;
  EXPECT_TRUE(absl::SimpleAtoi(message.substr(message.find("needs ") + 6, 2), &min_bytes))
      << message;
  return min_bytes;
}

// A user who follows the messages gets a plan. With a byte less there is no plan.
TEST(PlannerTest, SaysTheLeastThatAnyPlanNeeds) {
  int bytes = 10;
  for (int tries = 0; !PlanFor(RequestWithBytes(1.0, 4, bytes)).ok(); ++tries) {
    ASSERT_LT(tries, 5);
    const int min_bytes = MinBytesIn(PlanFor(RequestWithBytes(1.0, 4, bytes)).status());
    ASSERT_GT(min_bytes, bytes);
    bytes = min_bytes;
  }
  EXPECT_FALSE(PlanFor(RequestWithBytes(1.0, 4, bytes - 1)).ok());
}

TEST(PlannerTest, GivesUpWhenItIsStopped) {
  std::stop_source stop;
  stop.request_stop();
  PlannerRequest request = Request(20, 4);
  request.stop = stop.get_token();
  EXPECT_EQ(PlanFor(request).status().code(), absl::StatusCode::kCancelled);
}

TEST(PlannerTest, RefusesWhatCannotBePlanned) {
  EXPECT_FALSE(PlanFor(Request(0, 4)).ok());
  EXPECT_FALSE(PlanFor(Request(5, 0)).ok());
  EXPECT_FALSE(PlanFor({.interval = 5}).ok());
}

}  // namespace
}  // namespace millrace::pipeline
