// A learner of optical flow whose stages run on several ranks: predictions, checkpoints and answers
// are those of one process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "pipeline/flow/flow_follower.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/planner/host_traffic.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/wires/message_head.h"
#include "tests/pipeline/support/flow_modules.h"
#include "tests/pipeline/support/moving_waves.h"
#include "tests/pipeline/support/ranked_learners.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr char kOwnNetwork[] = "own.pt";

struct Case {
  std::string name;
  LearnerOptions options;
  FlowTaskOptions task = {};
};

class FlowRanksTest : public RankedLearnersTest {
 protected:
  void SetUp() override {
    RankedLearnersTest::SetUp();
    own_ = folder_.string() + "-" + kOwnNetwork;
    at::manual_seed(5);
    SaveNetwork(
        {Convolution("A", 6, 4), Dropping(), Convolution("B", 4, 4), Convolution("C", 4, 2)}, own_);
  }
  void TearDown() override {
    RankedLearnersTest::TearDown();
    std::filesystem::remove(own_);
  }

  // On auto, with each stage on a rank of its own.
  static LearnerOptions ForAFastCamera(const FakeClock& clock) {
    return {.width = kWavesSide,
            .height = kWavesSide,
            .schedule = "auto",
            .frames_per_second = 1000,
            .rank_of_stage = {2, 1, 0},
            .clock = &clock};
  }

  // Calls `next` until a learner on auto has another plan. The links' speeds come first, and may
  // keep the plan.
  template <typename Next>
  static void AwaitOtherPlan(const Learner& learner, FakeClock& clock, const Next& next) {
    constexpr int kMaxKept = 5;
    const auto plan = [&] { return *learner.description()->rate_plan; };
    while (plan().switched == 0 && plan().kept < kMaxKept) {
      clock.Advance(std::chrono::minutes(1));
      ASSERT_NO_FATAL_FAILURE(next());
    }
    ASSERT_EQ(plan().switched, 1);
  }

  [[nodiscard]] RankedTask Task(FlowTaskOptions task) const {
    if (IsNetworkFile(task.network)) task.network = own_;
    return {.make =
                [task](const LearnerOptions& options, OnPrediction on_prediction,
                       const LearnerHooks& hooks) {
                  return MakeFlowLearner(options, task, std::move(on_prediction), hooks);
                },
            .follow = FollowFlow,
            .show =
                [](int frame) {
                  return ShownSample{.previous = Waves(1.3 * frame),
                                     .current = Waves(1.3 * (frame + 1))};
                }};
  }

 private:
  std::string own_;
};

LearnerOptions ThreeStages(const std::string& schedule, std::vector<int> cuts = {2, 5}) {
  return {.width = kWavesSide,
          .height = kWavesSide,
          .schedule = schedule,
          .stages = 3,
          .cuts = std::move(cuts)};
}

FlowTaskOptions Watchful(const std::string& network) {
  return {.network = network, .learning = {.divergence = {.window = 10}}};
}

class EveryFlowRanks : public FlowRanksTest, public ::testing::WithParamInterface<Case> {};

TEST_P(EveryFlowRanks, LearnsAsOneProcess) {
  LearnsAsOneProcess(Task(GetParam().task), GetParam().options);
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const char* schedule : {"one_f_one_b_star", "partime", "pipedream"}) {
    cases.push_back({schedule, ThreeStages(schedule), Watchful("flow")});
  }
  cases.push_back({"refine", ThreeStages("one_f_one_b_star"), Watchful("refine")});
  cases.push_back({"own", ThreeStages("one_f_one_b_star", {2, 4}), Watchful(kOwnNetwork)});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EveryFlowRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// The moment of a roll-back depends on timing, so the bits do, too.
TEST_F(FlowRanksTest, RollBackDivergedWeightsOnAllRanks) {
  LearnerOptions diverges = ThreeStages("one_f_one_b_star");
  diverges.optimizer = {.learning_rate = 0.3, .clip_update = 0};
  const RankedLearning learned = Learn(Task(Watchful("flow")), diverges, {2, 1, 0});
  EXPECT_EQ(learned.predictions.size(), 60U);
  EXPECT_GT(learned.figures.roll_backs, 0);
  EXPECT_TRUE(learned.answer.finite);
}

TEST_F(FlowRanksTest, GoOnFromGoodWeightsAfterOneIsLost) {
  for (const char* schedule : {"one_f_one_b_star", "partime"}) {
    GoesOnFromGoodWeights(Task(Watchful("refine")), ThreeStages(schedule));
  }
}

// What `millrace plan` says in advance.
class FlowTrafficTest : public FlowRanksTest {
 protected:
  using ByPair = std::map<std::pair<int, int>, FakeWires::Traffic>;

  [[nodiscard]] ByPair Send(const LearnerOptions& options, const FlowTaskOptions& task,
                            int samples) const {
    FakeHosts hosts(FollowFlow);
    LearnerHooks hooks;
    hooks.join_ranks = [&](const JoinRequest& request) { return hosts.Join(request.size, {}); };
    {
      const auto learner = MakeFlowLearner(
          options, task, [](const ModelPrediction&) {}, hooks);
      EXPECT_TRUE(learner.ok()) << learner.status();
      for (int i = 0; i < samples; ++i) {
        const ShownSample shown = Task({}).show(i);
        EXPECT_TRUE(AwaitRoom(**learner).ok());
        EXPECT_TRUE((*learner)->Admit(shown.sample()).ok());
      }
      EXPECT_TRUE((*learner)->Drain().ok());
    }
    ByPair all;
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) all[{from, to}] = hosts.traffic(from, to);
    }
    return all;
  }
};

TEST_F(FlowTrafficTest, TheBytesBetweenHostsAreThoseThatThePlannerKnows) {
  for (const char* network : {"flow", "refine"}) {
    SCOPED_TRACE(network);
    const LearnerOptions options{.width = kWavesSide,
                                 .height = kWavesSide,
                                 .schedule = "one_f_one_b_star",
                                 .stages = 3,
                                 .cuts = {2, 5},
                                 .rank_of_stage = {2, 1, 0},
                                 .copy_every = 10};
    const FlowTaskOptions task = {.network = network};
    const auto profiled = ProfileFlow(options, task, /*runs=*/1);
    ASSERT_TRUE(profiled.ok()) << profiled.status();
    const Plan plan =
        *MakePlan(options.schedule,
                  {.shape = {.stages = 3}, .costs = std::vector<StageCost>(3, kAssumedCost)});
    const HostPlacement placement = {
        .host_of_stage = options.rank_of_stage,
        .copy_every = options.copy_every,
        .kept_of_weights = static_cast<double>(OptimizerStateTensors(options.optimizer))};
    std::map<std::pair<int, int>, double> bytes;
    for (const HostTransfer& transfer :
         TransfersOf(profiled->costs, options.cuts, plan, placement)) {
      bytes[{transfer.from, transfer.to}] += transfer.bytes;
    }
    // What each run sends besides its samples falls out of the difference.
    constexpr int kMore = 40;
    const ByPair few = Send(options, task, 20);
    const ByPair many = Send(options, task, 20 + kMore);
    for (const auto& [pair, traffic] : many) {
      SCOPED_TRACE(testing::PrintToString(pair));
      const double expected = bytes[pair] * kMore;
      const auto sent = static_cast<double>(traffic.bytes - few.at(pair).bytes);
      const auto messages = static_cast<double>(traffic.messages - few.at(pair).messages);
      EXPECT_GE(sent, expected);
      EXPECT_LE(sent, expected + messages * sizeof(EncodedHead));
    }
  }
}

// The plan for a fast camera does not wait for updates. That for a slow one does.
TEST_F(FlowRanksTest, PlanAgainForASlowerCamera) {
  FakeClock clock(std::chrono::hours(1));
  FakeHosts hosts(FollowFlow);
  LearnerHooks hooks;
  hooks.join_ranks = [&](const JoinRequest& request) { return hosts.Join(request.size, {}); };
  std::atomic<int> predictions = 0;
  auto made = MakeFlowLearner(
      ForAFastCamera(clock), {.network = "refine"}, [&](const ModelPrediction&) { ++predictions; },
      hooks);
  ASSERT_TRUE(made.ok()) << made.status();
  Learner& learner = **made;
  int samples = 0;
  const auto show = [&](int more) {
    for (int i = 0; i < more; ++i, ++samples) {
      const ShownSample shown = Task({}).show(samples);
      ASSERT_TRUE(AwaitRoom(learner).ok());
      ASSERT_TRUE(learner.Admit(shown.sample()).ok());
    }
  };
  ASSERT_NO_FATAL_FAILURE(show(20));
  EXPECT_EQ(learner.description()->stages.size(), 3U);
  EXPECT_GT(learner.description()->stages[0].staleness, 0);
  learner.FollowRate(0.01);
  ASSERT_NO_FATAL_FAILURE(AwaitOtherPlan(learner, clock, [&] { show(1); }));
  EXPECT_EQ(learner.description()->stages[0].staleness, 0);
  EXPECT_EQ(learner.description()->stages[0].rank, 2);
  // The others show their times now and then. They do not have the test's clock.
  const auto others_have_worked = [&] {
    const std::vector<StageTime> worked = learner.worked();
    return worked.size() == 3 && worked[0].predicting.count() > 0 &&
           worked[1].predicting.count() > 0;
  };
  while (!others_have_worked()) ASSERT_NO_FATAL_FAILURE(show(1));
  ASSERT_TRUE(learner.Drain().ok());
  EXPECT_EQ(predictions, samples);
  EXPECT_EQ(learner.ranks()->links.size(), 6U);
}

// A learner whose plan changes once all its samples are predicted.
class FlowRanksSwitchTest : public FlowRanksTest {
 protected:
  // Messages by then, before and after the change.
  struct Switched {
    std::int64_t before = 0;
    std::int64_t after = 0;
    std::int64_t groups_lost = 0;
  };

  // `lost_after`: the messages until rank 1 is lost; -1: never.
  void Switch(std::int64_t lost_after, Switched& switched) {
    FakeClock clock(std::chrono::hours(1));
    FakeHosts hosts(FollowFlow);
    int groups = 0;
    LearnerHooks hooks;
    hooks.join_ranks = [&](const JoinRequest& request) {
      const std::int64_t messages = groups++ == 0 ? lost_after : -1;
      return hosts.Join(request.size, {.rank = 1, .after_messages = messages});
    };
    std::atomic<int> predictions = 0;
    const auto made = MakeFlowLearner(
        ForAFastCamera(clock), {.network = "refine"},
        [&](const ModelPrediction&) { ++predictions; }, hooks);
    ASSERT_TRUE(made.ok()) << made.status();
    Learner& learner = **made;
    constexpr int kSamples = 10;
    for (int i = 0; i < kSamples; ++i) ASSERT_NO_FATAL_FAILURE(Admit(learner, i));
    const auto is_whole = [&] {
      return learner.ranks()->lost == 0 && learner.ranks()->joined == 3;
    };
    while (predictions < kSamples && is_whole()) std::this_thread::yield();
    switched.before = hosts.arrived();
    learner.FollowRate(0.01);
    ASSERT_NO_FATAL_FAILURE(
        AwaitOtherPlan(learner, clock, [&] { ASSERT_TRUE(AwaitRoom(learner).ok()); }));
    switched.after = hosts.arrived();
    const int before = predictions;
    for (int i = 0; i < kSamples; ++i) ASSERT_NO_FATAL_FAILURE(Admit(learner, kSamples + i));
    const absl::Status drained = learner.Drain();
    EXPECT_TRUE(drained.ok()) << drained;
    EXPECT_EQ(learner.description()->stages[0].staleness, 0);
    switched.groups_lost = learner.ranks()->lost;
    if (switched.groups_lost == 0) {
      EXPECT_EQ(predictions, before + kSamples);
    }
  }

 private:
  void Admit(Learner& learner, int frame) const {
    const ShownSample shown = Task({}).show(frame);
    ASSERT_TRUE(AwaitRoom(learner).ok());
    const absl::Status admitted = learner.Admit(shown.sample()).status();
    EXPECT_TRUE(admitted.ok() || absl::IsUnavailable(admitted)) << admitted;
  }
};

TEST_F(FlowRanksSwitchTest, ALossInTheMiddleOfASwitchIsNoEnd) {
  Switched well;
  ASSERT_NO_FATAL_FAILURE(Switch(-1, well));
  EXPECT_EQ(well.groups_lost, 0);
  const std::int64_t messages = well.after - well.before;
  ASSERT_GT(messages, 6);
  for (std::int64_t after = well.before + 1; after < well.after;
       after += std::max<std::int64_t>(1, messages / 10)) {
    SCOPED_TRACE(testing::Message() << "lost after " << after << " of " << well.before << " to "
                                    << well.after << " messages");
    Switched lost;
    ASSERT_NO_FATAL_FAILURE(Switch(after, lost));
    EXPECT_EQ(lost.groups_lost, 1);
  }
}

TEST_F(FlowRanksTest, WhatTheyCannotDoIsRefusedInWords) {
  const auto refusal = [](const LearnerOptions& options, const FlowTaskOptions& task = {}) {
    LearnerOptions complete = options;
    complete.width = complete.height = kWavesSide;
    complete.rank_of_stage = {1, 0};
    const absl::Status refused = CheckFlowOptions(complete, task);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    return std::string(refused.message());
  };
  EXPECT_THAT(refusal({.schedule = "local"}, {.network = "levels"}),
              HasSubstr("cannot have the schedule local"));
  EXPECT_THAT(refusal({.devices = {"cuda"}}), HasSubstr("cannot have stages on GPUs"));
  LearnerOptions three{.width = kWavesSide, .height = kWavesSide, .stages = 3};
  three.rank_of_stage = {1, 0};
  const auto refused = MakeFlowLearner(three, {}, [](ModelPrediction) {});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("name one for each of 3 stages"));
}

}  // namespace
}  // namespace millrace::pipeline
