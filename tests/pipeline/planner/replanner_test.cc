#include "pipeline/planner/replanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/plan/plan_checker.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;

// Eight equal layers, 12 ms to learn from a sample on one device; up to four devices.
PlannerRequest Request(double interval) {
  return {.layers = std::vector<LayerProfile>(
              8, {.name = "conv", .cost = {.forward = 0.5, .backward = 1.0}}),
          .interval = interval,
          .devices = 4};
}

nanoseconds Milliseconds(double ms) { return nanoseconds(static_cast<std::int64_t>(ms * 1e6)); }

// A simulated pipeline: each sample takes the times of the layers that the test sets.
class ReplannerTest : public ::testing::Test {
 protected:
  void Start(const PlannerRequest& request, double share = 0.25) {
    running_ = *PlanFor(request);
    layers_ = CostsOf(request.layers);
    replanner_.emplace(Replanner::Options{.request = request, .share = share, .clock = &clock_},
                       running_);
  }

  // Samples go through, one each 10 ms, and the planner is waited for where it plans.
  std::optional<Replan> Run(int samples) {
    for (int i = 0; i < samples; ++i, ++sample_) {
      const std::vector<StageCost> costs = StageCosts(layers_, running_.cuts);
      for (std::size_t stage = 0; stage < costs.size(); ++stage) {
        const auto record = [&](OperationKind kind, double cost) {
          replanner_->Record({kind, static_cast<int>(stage) + 1, sample_, sample_},
                             Milliseconds(cost));
        };
        record(OperationKind::kForward, costs[stage].forward);
        record(OperationKind::kBackward, costs[stage].backward);
      }
      clock_.Advance(Milliseconds(10));
      std::optional<Replan> replan = replanner_->Poll();
      if (!replan) {
        replanner_->AwaitPlanning();
        replan = replanner_->Poll();
      }
      if (replan) return replan;
    }
    return std::nullopt;
  }

  void Take(const Replan& replan) {
    running_ = replan.pipeline;
    if (replan.switches) replanner_->Switched();
  }

  FakeClock clock_;
  PlannedPipeline running_;
  std::vector<StageCost> layers_;
  std::int64_t sample_ = 0;
  std::optional<Replanner> replanner_;
};

TEST_F(ReplannerTest, NeverPlansAgainWhileCostsStay) {
  Start(Request(/*interval=*/20));
  EXPECT_FALSE(Run(5000));
}

// The times of a small network move all the time, which would keep a planner at work.
TEST_F(ReplannerTest, DoesNotPlanAgainWhileNothingIsStaleAndThereIsMuchTime) {
  Start(Request(/*interval=*/100));
  ASSERT_EQ(running_.staleness, 0);
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  EXPECT_FALSE(Run(2000)) << "24 of 100 ms";
  for (StageCost& layer : layers_) layer = {.forward = 3, .backward = 6};
  EXPECT_TRUE(Run(2000)) << "72 of 100 ms";
}

TEST_F(ReplannerTest, SlowerStagesGetALongerPipeline) {
  Start(Request(/*interval=*/20));
  ASSERT_EQ(running_.staleness, 0);
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  const auto replan = Run(2000);
  ASSERT_TRUE(replan);
  EXPECT_TRUE(replan->switches);
  EXPECT_GT(replan->pipeline.staleness, 0);
  EXPECT_TRUE(replan->pipeline.holds);
  EXPECT_EQ(replan->pipeline.effort.update_every, 1);
  EXPECT_EQ(replan->costs.size(), replan->pipeline.cuts.size() + 1);
  EXPECT_THAT(replan->why,
              MatchesRegex("a backward of stage . takes [0-9.]+ ms instead of [0-9.]+"));
  EXPECT_TRUE(CheckPlan(replan->pipeline.plan).ok());
}

TEST_F(ReplannerTest, GoesBackWhenTheyAreFastAgain) {
  Start(Request(/*interval=*/20));
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  const auto slow = Run(2000);
  ASSERT_TRUE(slow);
  Take(*slow);
  EXPECT_FALSE(Run(2000)) << "nothing has moved since";
  layers_ = CostsOf(Request(20).layers);
  const auto fast = Run(2000);
  ASSERT_TRUE(fast);
  EXPECT_TRUE(fast->switches);
  EXPECT_EQ(fast->pipeline.staleness, 0);
}

TEST_F(ReplannerTest, AFasterCameraGetsALongerPipeline) {
  Start(Request(/*interval=*/20));
  ASSERT_EQ(running_.staleness, 0);
  replanner_->FollowRate(100);
  EXPECT_FALSE(Run(990)) << "the last plan is not ten seconds old";
  const auto replan = Run(20);
  ASSERT_TRUE(replan);
  EXPECT_TRUE(replan->switches);
  EXPECT_GT(replan->pipeline.staleness, 0);
  EXPECT_TRUE(replan->pipeline.holds);
  EXPECT_EQ(replan->frames_per_second, 100);
  EXPECT_EQ(replan->why, "the camera sends 100 frames a second instead of 50");
  Take(*replan);
  EXPECT_FALSE(Run(2000)) << "nothing has moved since";
}

TEST_F(ReplannerTest, ASlowerCameraGetsLessStaleness) {
  Start(Request(/*interval=*/5));
  ASSERT_GT(running_.staleness, 0);
  replanner_->FollowRate(20);
  const auto replan = Run(1100);
  ASSERT_TRUE(replan);
  EXPECT_EQ(replan->pipeline.staleness, 0);
  EXPECT_EQ(replan->frames_per_second, 20);
}

// Day and night do not make it slow to notice other costs.
TEST_F(ReplannerTest, RatesThatAlternateDoNotLengthenThePause) {
  Start(Request(/*interval=*/20));
  for (int round = 0; round < 6; ++round) {
    replanner_->FollowRate(round % 2 == 0 ? 100 : 50);
    const auto replan = Run(1100);
    ASSERT_TRUE(replan) << round;
    EXPECT_TRUE(replan->switches);
    Take(*replan);
  }
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  EXPECT_TRUE(Run(1100));
}

// The rate counts for plans that are made because of costs later.
TEST_F(ReplannerTest, KeepsTheRateThatItFollows) {
  Start(Request(/*interval=*/20));
  replanner_->FollowRate(20);
  const auto slow = Run(1100);
  ASSERT_TRUE(slow);
  Take(*slow);
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  const auto replan = Run(4000);
  ASSERT_TRUE(replan);
  EXPECT_EQ(replan->frames_per_second, 20);
  EXPECT_EQ(replan->pipeline.staleness, 0) << "24 of 50 ms";
}

TEST_F(ReplannerTest, KeepsAPlanThatStillHolds) {
  Start(Request(/*interval=*/40));
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  const auto replan = Run(2000);
  ASSERT_TRUE(replan);
  EXPECT_FALSE(replan->switches);
  EXPECT_EQ(replan->pipeline.plan, running_.plan);
  EXPECT_EQ(replan->pipeline.cuts, running_.cuts);
  EXPECT_TRUE(replan->pipeline.holds);
  double total = 0;
  for (const StageCost& cost : replan->pipeline.costs) total += cost.total();
  EXPECT_DOUBLE_EQ(total, 24);
}

TEST_F(ReplannerTest, GivesUpLearningWhereNoPlanHolds) {
  Start(Request(/*interval=*/20));
  for (StageCost& layer : layers_) layer = {.forward = 4, .backward = 8};
  const auto replan = Run(2000);
  ASSERT_TRUE(replan);
  EXPECT_NE(replan->pipeline.effort.update_every, 1);
}

TEST_F(ReplannerTest, AStageThatMovedAloneMovesTheCuts) {
  PlannerRequest request = Request(/*interval=*/9);
  request.devices = 2;
  request.spread = 0.02;
  Start(request);
  ASSERT_THAT(running_.cuts, ElementsAre(4));
  for (std::size_t i = 0; i < 4; ++i) layers_[i] = {.forward = 0.9, .backward = 1.8};
  const auto replan = Run(2000);
  ASSERT_TRUE(replan);
  EXPECT_TRUE(replan->switches);
  EXPECT_THAT(replan->pipeline.cuts, ElementsAre(3));
  EXPECT_EQ(replan->why, "a backward of stage 1 takes 7.2 ms instead of 4");
}

// Each stage is on a host of its own.
class ReplannerOverHosts : public ReplannerTest {
 protected:
  void StartOnHosts(double interval) {
    PlannerRequest request = Request(interval);
    for (LayerProfile& layer : request.layers) layer.output_bytes = 1000;
    request.layers[1].output_bytes = 10;
    request.devices = 2;
    request.uses_all = true;
    request.spread = 0.02;
    Start(request);
  }

  // As Run(). Host 1, which runs stage 1, is slower by the factor.
  std::optional<Replan> RunWith(double slowness, int samples = 2000) {
    for (int i = 0; i < samples; ++i) {
      const std::vector<StageCost> costs = StageCosts(layers_, running_.cuts);
      replanner_->Report({costs[0].forward * slowness, costs[1].forward});
      clock_.Advance(Milliseconds(10));
      std::optional<Replan> replan = replanner_->Poll();
      if (!replan) {
        replanner_->AwaitPlanning();
        replan = replanner_->Poll();
      }
      if (!replan) continue;
      Take(*replan);
      return replan;
    }
    return std::nullopt;
  }
};

TEST_F(ReplannerOverHosts, UseAllHostsAlsoForASlowCamera) {
  StartOnHosts(/*interval=*/100);
  EXPECT_THAT(running_.cuts, ElementsAre(4));
}

TEST_F(ReplannerOverHosts, ASlowHostGetsFewerLayersUntilItIsFastAgain) {
  StartOnHosts(/*interval=*/9);
  ASSERT_THAT(running_.cuts, ElementsAre(4));
  EXPECT_FALSE(RunWith(1));
  const auto fewer = RunWith(3);
  ASSERT_TRUE(fewer && fewer->switches);
  EXPECT_THAT(running_.cuts, ElementsAre(2));
  EXPECT_EQ(fewer->why, "a forward of stage 1 takes 6 ms instead of 2");
  EXPECT_FALSE(RunWith(3)) << "its layers are not slow on the other host";
  const auto more = RunWith(1);
  ASSERT_TRUE(more && more->switches);
  EXPECT_THAT(running_.cuts, ElementsAre(4));
}

TEST_F(ReplannerOverHosts, ASlowLinkGetsSmallerTensorsOrIsTheLimit) {
  StartOnHosts(/*interval=*/12);
  replanner_->FollowLinks({0.02});
  const auto smaller = RunWith(1, 50);
  ASSERT_TRUE(smaller && smaller->switches);
  EXPECT_THAT(running_.cuts, ElementsAre(2));
  EXPECT_EQ(smaller->why, "the link behind stage 1 takes 20 ms a sample instead of 0");
  EXPECT_TRUE(running_.holds);
  replanner_->FollowLinks({0.02});
  EXPECT_FALSE(RunWith(1)) << "nothing new";
  replanner_->FollowLinks({2});
  const auto limited = RunWith(1, 50);
  ASSERT_TRUE(limited);
  EXPECT_FALSE(running_.holds);
  EXPECT_THAT(running_.limit, MatchesRegex("the link behind stage 1 takes 20 ms a sample, longer "
                                           "than each stage"));
}

TEST_F(ReplannerTest, WithoutAShareItNeverPlansAgain) {
  Start(Request(/*interval=*/20), /*share=*/0);
  for (StageCost& layer : layers_) layer = {.forward = 10, .backward = 10};
  EXPECT_FALSE(Run(2000));
}

TEST_F(ReplannerTest, LeavesAPauseBetweenTwoPlans) {
  Start(Request(/*interval=*/20));
  for (StageCost& layer : layers_) layer = {.forward = 1, .backward = 2};
  const auto first = Run(2000);
  ASSERT_TRUE(first);
  Take(*first);
  layers_ = CostsOf(Request(20).layers);
  EXPECT_FALSE(Run(990)) << "9.9 s";
  EXPECT_TRUE(Run(100));
}

TEST_F(ReplannerTest, TakesItsTimeWhereItGoesBackAndForth) {
  Start(Request(/*interval=*/20));
  const auto film = [&](double factor, int samples) {
    layers_.assign(8, {.forward = 0.5 * factor, .backward = factor});
    const auto replan = Run(samples);
    if (replan) Take(*replan);
    return replan && replan->switches;
  };
  EXPECT_TRUE(film(2, 1100));
  EXPECT_TRUE(film(1, 1100));  // Back for the first time: 20 s now.
  EXPECT_FALSE(film(2, 1900));
  EXPECT_TRUE(film(2, 200));  // And again: 40 s.
  EXPECT_FALSE(film(1, 3900));
  EXPECT_TRUE(film(1, 200));
}

TEST(ScaledTest, ScalesTheLayersOfEachStageByWhatItMoved) {
  const std::vector<LayerProfile> layers = {
      {.name = "a", .cost = {.forward = 1, .backward = 2, .update = 0}},
      {.name = "b", .cost = {.forward = 3, .backward = 2, .update = 1}},
      {.name = "c", .cost = {.forward = 5, .backward = 5, .update = 5}}};
  const auto scaled = Scaled(
      layers, {2},
      {{.forward = 8, .backward = 2, .update = 4}, {.forward = 5, .backward = 10, .update = 5}});
  EXPECT_EQ(scaled[0].cost.forward, 2);
  EXPECT_EQ(scaled[1].cost.forward, 6);
  EXPECT_EQ(scaled[0].cost.backward, 1);
  EXPECT_EQ(scaled[0].cost.update, 0);
  EXPECT_EQ(scaled[1].cost.update, 4);
  EXPECT_EQ(scaled[2].cost.forward, 5);
  EXPECT_EQ(scaled[2].cost.backward, 10);
}

TEST(ScaledTest, ScalesThePartsOfABackwardByThemselves) {
  const std::vector<LayerProfile> layers = {
      {.name = "a", .cost = {.forward = 1, .backward = 3, .weight_gradient = 1}},
      {.name = "b", .cost = {.forward = 1, .backward = 5, .weight_gradient = 3}}};
  // Four for the inputs, and four for the weights.
  const auto scaled = Scaled(layers, {}, {{.forward = 2, .backward = 10, .weight_gradient = 8}});
  EXPECT_EQ(scaled[0].cost.weight_gradient, 2);
  EXPECT_EQ(scaled[0].cost.backward, 1 + 2);
  EXPECT_EQ(scaled[1].cost.weight_gradient, 6);
  EXPECT_EQ(scaled[1].cost.backward, 1 + 6);
}

}  // namespace
}  // namespace millrace::pipeline
