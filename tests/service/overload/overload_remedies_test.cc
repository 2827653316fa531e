#include "service/overload/overload_remedies.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "service/overload/idle_cores.h"
#include "service/overload/overload_text.h"

namespace millrace::service {
namespace {

/// Two stages of `forward_ms` and `backward_ms` each, at 320x240.
pipeline::LearnerDescription Learner(double forward_ms = 20, double backward_ms = 80) {
  pipeline::LearnerDescription learner;
  learner.schedule = "one_f_one_b_star";
  learner.width = 320;
  learner.height = 240;
  for (const char* const device : {"cpu:0", "cpu:1"}) {
    learner.stages.push_back({.layers = {"a", "b", "c", "d"},
                              .device = device,
                              .forward_ms = forward_ms,
                              .backward_ms = backward_ms});
  }
  learner.samples_per_second = 1000 / (forward_ms + backward_ms);
  return learner;
}

OverloadCase Drops(double received, double predicted, double idle_cores = 0) {
  return {.overload = {.kind = OverloadKind::kDrops,
                       .received_per_second = received,
                       .predicted_per_second = predicted,
                       .dropped_per_second = received - predicted},
          .idle_cores = idle_cores};
}

TEST(OverloadRemediesTest, NameTheRateThatIsHeldWithAFifthToSpare) {
  const Remedies remedies = RemediesFor(Drops(25, 10), {}, Learner());
  EXPECT_DOUBLE_EQ(remedies.max_fps, 8);
}

TEST(OverloadRemediesTest, GoByWhatIsMeasuredAndNotByThePlan) {
  // Planned for 10 a second; something else takes three quarters of the machine.
  const Remedies remedies = RemediesFor(Drops(25, 2.5), {}, Learner());
  EXPECT_DOUBLE_EQ(remedies.max_fps, 2);
}

TEST(OverloadRemediesTest, CountTheLearningThatWasGivenUp) {
  // Only predicting, 50 a second are held; learning from every frame 10.
  OverloadCase seen = Drops(60, 50);
  seen.overload.update_every = 0;
  pipeline::LearnerDescription learner = Learner();
  learner.update_every = 0;
  learner.samples_per_second = 50;
  EXPECT_DOUBLE_EQ(RemediesFor(seen, {}, learner).max_fps, 8);
}

// 10 frames a second are held by the plan; another program makes the learner learn less.
TEST(OverloadRemediesTest, NoRateHelpsALearnerThatShouldKeepUp) {
  OverloadCase seen = Drops(8, 8, /*idle_cores=*/60);
  seen.overload.kind = OverloadKind::kLearnsLess;
  seen.overload.update_every = 4;
  pipeline::LearnerDescription learner = Learner();
  const Remedies none = RemediesFor(seen, {}, learner);
  EXPECT_EQ(none.max_fps, 0);
  EXPECT_EQ(none.width, 0);
  EXPECT_EQ(none.stages, 0) << "of idle cores there are enough";
  seen.overload.received_per_second = 12;
  EXPECT_DOUBLE_EQ(RemediesFor(seen, {}, learner).max_fps, 8);
}

TEST(OverloadRemediesTest, WhereNothingIsDroppedThePlanSaysWhatCanBeDone) {
  OverloadCase seen = Drops(25, 25);
  seen.overload.kind = OverloadKind::kLearnsLess;
  seen.overload.update_every = 4;
  pipeline::LearnerDescription learner = Learner();
  learner.update_every = 4;
  learner.samples_per_second = 25;  // 20 + 80 / 4 ms.
  EXPECT_DOUBLE_EQ(RateAt(1, learner), 10);
  EXPECT_DOUBLE_EQ(RemediesFor(seen, {}, learner).max_fps, 8);
}

struct InputCase {
  const char* network;
  int width;
  int height;
  double held_share;
  int min_share_percent;  // Of what would fit: as large as the multiples allow.
};

// A remedy's input is one that the configuration takes: multiples, no side below 64, the same
// shape.
TEST(OverloadRemediesTest, NameAnInputThatTheNetworkTakesInTheSameShape) {
  for (const InputCase& one : {InputCase{"flow", 352, 256, 0.4, 50},
                               {"flow", 640, 480, 0.1, 50},
                               {"flow", 1280, 720, 0.3, 70},
                               {"levels", 768, 576, 0.5, 70},
                               {"ndconv", 333, 250, 0.5, 90},
                               {"resunet", 640, 352, 0.5, 50},
                               {"flownets", 1024, 768, 0.5, 50}}) {
    StreamConfig config;
    config.flow.network = one.network;
    pipeline::LearnerDescription learner = Learner();
    learner.width = one.width;
    learner.height = one.height;
    const Remedies remedies = RemediesFor(Drops(8 / one.held_share, 10), config, learner);
    ASSERT_GT(remedies.width, 0) << one.network << " " << one.width;
    const int multiple = one.network == std::string("resunet")    ? 32
                         : one.network == std::string("flownets") ? 64
                         : one.network == std::string("ndconv")   ? 1
                                                                  : 16;
    EXPECT_EQ(remedies.width % multiple, 0);
    EXPECT_EQ(remedies.height % multiple, 0);
    EXPECT_GE(std::min(remedies.width, remedies.height), 64);
    const double shape = static_cast<double>(one.height) / one.width;
    EXPECT_NEAR(static_cast<double>(remedies.height) / remedies.width, shape, 0.15 * shape);
    const double share =
        static_cast<double>(remedies.width) * remedies.height / one.width / one.height;
    EXPECT_LE(share, one.held_share + 1e-9) << one.network;
    EXPECT_GE(100 * share, one.held_share * one.min_share_percent) << one.network;
  }
}

TEST(OverloadRemediesTest, NameNoInputWhereNoneIsSmallEnough) {
  StreamConfig config;
  pipeline::LearnerDescription learner = Learner();
  learner.width = 96;
  learner.height = 64;
  const Remedies remedies = RemediesFor(Drops(200, 10), config, learner);
  EXPECT_EQ(remedies.width, 0);
  EXPECT_DOUBLE_EQ(remedies.max_fps, 8);
}

TEST(OverloadRemediesTest, NameMoreStagesOnlyWhereCoresStandIdleForThem) {
  // A sample takes 200 ms of one core: 15 a second need 3.75 cores with a fifth to spare.
  EXPECT_EQ(RemediesFor(Drops(15, 10, /*idle_cores=*/0), {}, Learner()).stages, 0);
  EXPECT_EQ(RemediesFor(Drops(15, 10, /*idle_cores=*/1.9), {}, Learner()).stages, 0);
  EXPECT_EQ(RemediesFor(Drops(15, 10, /*idle_cores=*/2), {}, Learner()).stages, 4);
  EXPECT_EQ(RemediesFor(Drops(15, 10, /*idle_cores=*/60), {}, Learner()).stages, 4);
  EXPECT_EQ(RemediesFor(Drops(100, 10, /*idle_cores=*/60), {}, Learner()).stages, 0)
      << "there are eight layers";
}

TEST(OverloadRemediesTest, TheScheduleAutoTakesAllItMayAlready) {
  StreamConfig config;
  config.learner.schedule = "auto";
  config.learner.stages = 4;
  EXPECT_EQ(RemediesFor(Drops(15, 10, 8), config, Learner()).stages, 0);
  config.learner.stages = 2;
  EXPECT_EQ(RemediesFor(Drops(15, 10, 8), config, Learner()).stages, 4);
}

TEST(OverloadRemediesTest, OnAGpuThereIsNothingToSayOfCores) {
  pipeline::LearnerDescription learner = Learner();
  for (auto& stage : learner.stages) stage.device = "cuda:0";
  EXPECT_EQ(RemediesFor(Drops(6, 5, 8), {}, learner).stages, 0);
}

TEST(OverloadRemediesTest, ANetworkOfOnesOwnOrOfLabelsKeepsItsInput) {
  StreamConfig own;
  own.flow.network = "net.pt";
  EXPECT_EQ(RemediesFor(Drops(25, 10), own, Learner()).width, 0);
  pipeline::LearnerDescription labels = Learner();
  labels.labels.emplace();
  EXPECT_EQ(RemediesFor(Drops(25, 10), {}, labels).width, 0);
  EXPECT_DOUBLE_EQ(RemediesFor(Drops(25, 10), {}, labels).max_fps, 8);
}

TEST(OverloadRemediesTest, NothingIsNamedThatNothingIsKnownOf) {
  EXPECT_EQ(DescribeRemedies({.kind = OverloadKind::kDrops,
                              .remedies = RemediesFor(Drops(25, 0), {}, Learner(0, 0))}),
            "");
}

// What a machine is held against: a cost for each pixel, devices that do one operation at a time.
TEST(OverloadRemediesTest, EachEndsTheOverloadOfAMachineThatCostsWhatWasMeasured) {
  std::mt19937 random(3);
  const auto pick = [&](double min, double max) {
    return std::uniform_real_distribution(min, max)(random);
  };
  for (int run = 0; run < 2000; ++run) {
    const double forward = pick(1, 60);
    const double backward = pick(1, 200);
    const pipeline::LearnerDescription learner = Learner(forward, backward);
    const double slowdown = pick(0.8, 5);
    const double can_do = learner.samples_per_second / slowdown;
    const double received = can_do * pick(1.1, 8);
    const Remedies remedies = RemediesFor(Drops(received, can_do, pick(0, 8)), {}, learner);
    ASSERT_GT(remedies.max_fps, 0);
    EXPECT_LE(remedies.max_fps, 0.8 * can_do + 1e-9);
    EXPECT_GE(remedies.max_fps, 0.7 * can_do - 1) << "no more is given up than need be";
    if (remedies.width > 0) {
      const double share = remedies.width * remedies.height / (320.0 * 240);
      EXPECT_LE(received * share / can_do, 0.8 + 1e-9);
    }
    if (remedies.stages > 0) {
      EXPECT_LE(received * 2 / (remedies.stages * can_do), 0.8 + 1e-9);
    }
  }
}

struct IdleCase {
  const char* what;
  CpuTimes after;
  double usable;
  double idle;
};

TEST(IdleCoresTest, AreThoseThatStandIdleAndThatTheProcessMayUse) {
  for (const IdleCase& one :
       {IdleCase{"half of a machine of four", {.idle_s = 120, .used_s = 70}, 4, 2},
        {"another program takes the rest", {.idle_s = 100, .used_s = 70}, 4, 0},
        {"a container may use one more", {.idle_s = 700, .used_s = 70}, 3, 1},
        {"a container is at its limit", {.idle_s = 700, .used_s = 71}, 2, 0},
        {"nothing is known of the machine", {.idle_s = 100, .used_s = 50}, 4, 0}}) {
    const CpuTimes before{.idle_s = 100, .used_s = 50};
    EXPECT_DOUBLE_EQ(IdleCores(before, one.after, /*seconds=*/10, one.usable), one.idle)
        << one.what;
  }
}

TEST(IdleCoresTest, AreReadOfThisMachine) {
  const CpuTimes before = ReadCpuTimes();
  EXPECT_GT(before.idle_s, 0);
  volatile double sum = 0;
  while (ReadCpuTimes().used_s - before.used_s < 0.02) sum = sum + 1;
  EXPECT_GE(ReadCpuTimes().idle_s, before.idle_s);
}

TEST(LimitingLinkTest, IsBusyNearlyAllTheTimeAndMoreThanEachStage) {
  const std::vector<StageLoad> stages = {{.predicting = 0.3, .learning = 0.58},
                                         {.predicting = 0.2}};
  const auto limit = [&](double share) {
    return LimitingLink(stages,
                        {{.from = 1, .to = 0, .share = 0.1}, {.from = 2, .to = 1, .share = share}});
  };
  EXPECT_FALSE(LimitingLink(stages, {}).has_value());
  EXPECT_FALSE(LimitingLink({}, {{.from = 1, .to = 0, .share = 0.7}}).has_value());
  EXPECT_FALSE(limit(0.8).has_value()) << "a stage is busier";
  EXPECT_FALSE(limit(0.86).has_value()) << "a stage is busier";
  ASSERT_TRUE(limit(0.95).has_value());
  EXPECT_EQ(limit(0.95)->from, 2);
}

TEST(OverloadRemediesTest, IdleCoresHereDoNotHelpStagesOnOtherHosts) {
  const OverloadCase seen = Drops(25, 10, /*idle_cores=*/8);
  EXPECT_GT(RemediesFor(seen, {}, Learner()).stages, 0);
  StreamConfig over_hosts;
  over_hosts.learner.rank_of_stage = {1, 0};
  const Remedies remedies = RemediesFor(seen, over_hosts, Learner());
  EXPECT_EQ(remedies.stages, 0);
  EXPECT_DOUBLE_EQ(remedies.max_fps, 8);
}

TEST(OverloadTextTest, SaysWhatIsGivenUpAndWhatHelps) {
  Overload overload{.kind = OverloadKind::kDrops,
                    .received_per_second = 25,
                    .dropped_per_second = 20.94,
                    .remedies = {.max_fps = 3.2, .width = 160, .height = 112, .stages = 4}};
  EXPECT_EQ(DescribeOverload(overload), "drops 20.9 of 25.0 frames a second");
  overload.limiting_link = {.from = 1, .to = 0, .share = 1.04};
  EXPECT_EQ(
      DescribeOverload(overload),
      "drops 20.9 of 25.0 frames a second: the network is too slow, as rank 1 sends to rank 0 "
      "for 100 % of the time");
  EXPECT_EQ(DescribeRemedies(overload),
            "every frame is predicted and learned from with one of: source.max_fps: 3.2; "
            "model.input: [160, 112]; schedule: {kind: auto, stages: 4}");
  overload.remedies = {.max_fps = 12};
  EXPECT_EQ(DescribeRemedies(overload),
            "every frame is predicted and learned from with source.max_fps: 12");
  overload = {.kind = OverloadKind::kLearnsLess, .update_every = 4};
  EXPECT_EQ(DescribeOverload(overload), "learns from one frame in 4");
  EXPECT_EQ(DescribeRemedies(overload), "");
  EXPECT_EQ(DescribeOverload({.kind = OverloadKind::kOnlyPredicts}), "only predicts");
  EXPECT_EQ(DescribeOverload({}), "");
}

TEST(OverloadTextTest, SaysWhatWasPromisedAndWhatIsMeasured) {
  Promise promise{.frames_per_second = 37, .delay_s = 0.009};
  EXPECT_EQ(DescribeBrokenPromise(promise, 4.1, 0.24), "");
  promise.rate_kept = false;
  EXPECT_EQ(DescribeBrokenPromise(promise, 4.1, 0.24),
            "promised 37.0 predictions a second after 9 ms, measured 4.1 after 240 ms");
}

}  // namespace
}  // namespace millrace::service
