#include "service/registry/device_budget.h"

#include <future>
#include <mutex>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"
#include "service/registry/budget_gate.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr double kNear = 1e-9;

StreamConfig Watching(const std::string& uri, const std::string& name = "gate") {
  StreamConfig config;
  config.name = name;
  config.source.uri = uri;
  return config;
}

pipeline::LearnerDescription Stages(std::vector<std::string> devices) {
  pipeline::LearnerDescription learner;
  for (const std::string& device : devices) {
    learner.stages.push_back(
        {.layers = {}, .device = device, .forward_ms = 10, .backward_ms = 20, .update_ms = 4});
  }
  return learner;
}

TEST(FrameRateOfTest, IsWhatTheCameraSaysElseWhatIsConfiguredAndNeverAboveItsLimit) {
  StreamConfig config = Watching("rtsp://camera/1");
  EXPECT_EQ(FrameRateOf(config, 0), kUsualFrameRate);
  EXPECT_EQ(FrameRateOf(config, 50), 50);
  config.learner.frames_per_second = 12;
  EXPECT_EQ(FrameRateOf(config, 0), 12);
  config.source.max_frames_per_second = 10;
  EXPECT_EQ(FrameRateOf(config, 0), 10);
  EXPECT_EQ(FrameRateOf(config, 5), 5);
  EXPECT_EQ(FrameRateOf(Watching("test:ball"), 0), 30) << "as test_frames_per_second";
}

TEST(FrameRateOfTest, OfFramesThatWaitIsNone) {
  StreamConfig config = Watching("street.avi");
  EXPECT_EQ(FrameRateOf(config, 25), 0);
  config.source.as_camera = true;
  EXPECT_EQ(FrameRateOf(config, 10), 10);
}

TEST(LoadOfTest, IsWhatTheStagesCostAtTheRate) {
  StreamConfig config = Watching("rtsp://camera/1");
  pipeline::LearnerDescription learner = Stages({"cpu:0", "cpu:1", "cuda:0"});
  EXPECT_THAT(
      LoadOf(config, learner, 10).devices,
      ElementsAre(Pair("cpu", DoubleNear(0.68, kNear)), Pair("cuda:0", DoubleNear(0.34, kNear))));
  config.learner.threads_per_stage = 3;
  EXPECT_NEAR(LoadOf(config, learner, 10).devices["cpu"], 3 * 0.68, kNear);
  EXPECT_NEAR(LoadOf(config, learner, 10).devices["cuda:0"], 0.34, kNear);
  learner.update_every = 2;
  EXPECT_NEAR(LoadOf(config, learner, 10).devices["cuda:0"], 0.22, kNear);
  learner.update_every = 0;
  EXPECT_NEAR(LoadOf(config, learner, 10).devices["cuda:0"], 0.1, kNear);
}

TEST(FitsTest, OneThatDoesNotIsRefusedWithTheFigures) {
  const StreamLoad gate = {.stream = "gate", .frames_per_second = 25, .devices = {{"cpu", 1.25}}};
  const std::vector<StreamLoad> others = {{.stream = "street", .devices = {{"cpu", 2.5}}},
                                          {.stream = "yard", .devices = {{"cpu", 0.5}}}};
  EXPECT_TRUE(Fits(gate, others, {.cores = 4.25}).ok());
  const absl::Status refused = Fits(gate, others, {.cores = 4});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), "DEVICE_BUDGET_EXCEEDED");
  EXPECT_THAT(ValuesOf(refused),
              testing::UnorderedElementsAre(Pair("stream", "gate"), Pair("device", "cpu"),
                                            Pair("needed", "1.25"), Pair("left", "1.00")));
  EXPECT_EQ(refused.message(),
            "1.25 cores are needed at 25 frames a second, and of 4 there are 1.00 left: 'street' "
            "takes 2.50, 'yard' takes 0.50; lower source.max_fps or the input's size. Or delete "
            "another stream, or raise budget.cores");
}

TEST(FitsTest, EachGpuIsABudgetOfItsOwn) {
  const StreamLoad gate = {.stream = "gate", .devices = {{"cpu", 0.1}, {"cuda:1", 0.7}}};
  const std::vector<StreamLoad> others = {{.stream = "street", .devices = {{"cuda:0", 0.9}}}};
  EXPECT_TRUE(Fits(gate, others, {}).ok());
  const std::vector<StreamLoad> there = {{.stream = "street", .devices = {{"cuda:1", 0.4}}}};
  EXPECT_THAT(std::string(Fits(gate, there, {}).message()), HasSubstr("0.70 of cuda:1 are needed"));
  EXPECT_TRUE(Fits(gate, there, {.gpu = 1.5}).ok());
}

TEST(FitsTest, OneAloneOnItsDevicesFitsHoweverMuchItTakes) {
  const StreamLoad gate = {.stream = "gate", .devices = {{"cpu", 100}}};
  EXPECT_TRUE(Fits(gate, {}, {.cores = 1}).ok());
  EXPECT_TRUE(Fits(gate, {{.stream = "file", .devices = {}}}, {.cores = 1}).ok());
}

class BudgetGateTest : public testing::Test {
 protected:
  /// A stream at 10 frames a second: as the fake's stages cost, 0.86 cores, with a forward of 20
  /// ms.
  void Run(const std::string& name, double forward_ms = 20, HeldMemory memory = nullptr) {
    FakeStreamOptions options;
    options.config = Watching("rtsp://user:secret@camera/1", name);
    FakeStream fake = StartFakeStream(options);
    fake.learner->Describe([&](auto& learner) { learner.stages[0].forward_ms = forward_ms; });
    auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
    ASSERT_TRUE(streams_
                    .Add(std::make_shared<ServedStream>(record, std::move(fake.stream),
                                                        /*the_incarnation=*/0, std::move(memory)))
                    .ok());
    fakes_.push_back(std::move(fake));
  }

  std::vector<FakeStream> fakes_;  // Their clocks outlive the streams.
  StreamRegistry streams_;
  const pipeline::LearnerDescription learner_ = Stages({"cpu:0"});  // 0.85 cores.
  StreamConfig gate_ = Watching("rtsp://camera/2");
  double says_ = 0;  // The cameras' answer.
  int looks_ = 0;
  const BudgetGate::AnnouncedRate announced_ = [this](const ingest::SourceOptions&) {
    ++looks_;
    return says_;
  };
};

TEST_F(BudgetGateTest, ReckonsWithWhatRuns) {
  BudgetGate gate({.cores = 1.5}, streams_, announced_);
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  Run("street");
  EXPECT_THAT(std::string(gate.Admit(gate_, learner_).message()),
              HasSubstr("of 1.5 there are 0.64 left: 'street' takes 0.86"));
  streams_.Stop();
}

// On a busy machine operations take longer, and learning is given up. Neither makes room for others
// or takes it from them.
TEST_F(BudgetGateTest, HowBusyTheMachineIsChangesNoAnswer) {
  BudgetGate tight({.cores = 1.5}, streams_, announced_);
  BudgetGate wide({.cores = 1.75}, streams_, announced_);
  Run("street");
  for (const int update_every : {1, 8, 0}) {
    for (const double slower : {1.0, 3.0}) {
      fakes_.front().learner->Describe([&](auto& learner) {
        learner.stages[0].forward_ms = slower * 20;
        learner.stages[0].backward_ms = slower * 40;
        learner.update_every = update_every;
      });
      EXPECT_THAT(std::string(tight.Admit(gate_, learner_).message()),
                  HasSubstr("0.64 left: 'street' takes 0.86"));
      EXPECT_TRUE(wide.Admit(gate_, learner_).ok());
    }
  }
  streams_.Stop();
}

TEST_F(BudgetGateTest, OneThatTakesNoMoreThanBeforeIsNotAsked) {
  BudgetGate gate({.cores = 0.1}, streams_, announced_);
  Run("street");
  Run("gate");
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  StreamConfig changed = gate_;
  changed.entry = R"({"name": "gate", "model": {"input": [640, 480]}})";
  EXPECT_TRUE(gate.Admit(changed, learner_).ok());
  pipeline::LearnerDescription dearer = learner_;
  dearer.stages[0].forward_ms += 1;
  EXPECT_FALSE(gate.Admit(changed, dearer).ok());
  // The unchanged stream may come back at any cost: its cost is measured again each time.
  EXPECT_TRUE(gate.Admit(gate_, dearer).ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, OneThatKeepsItsCameraIsReckonedAtTheRateOfThatCamera) {
  BudgetGate gate({.cores = 1.5}, streams_, announced_);
  Run("street");
  Run("gate");  // Both together take 1.72 of 1.5 cores.
  StreamConfig changed = Watching("rtsp://user:secret@camera/1");
  changed.entry = R"({"name": "gate", "source": {"uri": "rtsp://camera/1", "queue": 4}})";
  pipeline::LearnerDescription same = *streams_.All().back()->stream->learner();
  EXPECT_TRUE(gate.Admit(changed, same).ok()) << "it takes what it took, at 10 frames a second";
  changed.source.uri = "rtsp://user:new-secret@camera/1";
  EXPECT_TRUE(gate.Admit(changed, same).ok()) << "who asks makes no other camera of it";
  // Also if it is made again with a more expensive network.
  same.stages[0].forward_ms += 10;
  EXPECT_THAT(std::string(gate.Admit(changed, same).message()),
              HasSubstr("0.96 cores are needed at 10 frames a second"));
  EXPECT_EQ(looks_, 0);
  changed.source.uri = "rtsp://camera/2";
  EXPECT_THAT(std::string(gate.Admit(changed, same).message()), HasSubstr("at 25 frames a second"));
  streams_.Stop();
}

TEST_F(BudgetGateTest, ANewCameraIsReckonedAtTheRateThatItSays) {
  BudgetGate gate({.cores = 1.5}, streams_, announced_);
  says_ = 50;
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  EXPECT_EQ(looks_, 0) << "one alone fits at any rate";
  Run("street");
  EXPECT_THAT(std::string(gate.Admit(gate_, learner_).message()),
              HasSubstr("1.70 cores are needed at 50 frames a second"));
  gate_.source.max_frames_per_second = 5;
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  gate_.source.max_frames_per_second = 0;
  says_ = 15;
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  says_ = 0;
  EXPECT_THAT(std::string(gate.Admit(gate_, learner_).message()),
              HasSubstr("at 25 frames a second"))
      << "a camera that is away";
  streams_.Stop();
}

// What it took says nothing of what it takes: the new camera sends more.
TEST_F(BudgetGateTest, AStreamThatGetsAnotherCameraIsReckonedAtThatOnesRate) {
  BudgetGate gate({.cores = 2}, streams_, announced_);
  Run("street");
  Run("gate");  // Both together take 1.72 of 2 cores.
  const pipeline::LearnerDescription same = *streams_.All().back()->stream->learner();
  gate_.entry = R"({"name": "gate", "source": {"uri": "rtsp://camera/2"}})";
  says_ = 60;
  EXPECT_THAT(std::string(gate.Admit(gate_, same).message()), HasSubstr("at 60 frames a second"));
  says_ = 10;
  EXPECT_TRUE(gate.Admit(gate_, same).ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, WhereTheRateIsKnownNoCameraIsLookedAt) {
  BudgetGate gate({.cores = 1}, streams_, announced_);
  Run("street");
  Run("gate");
  pipeline::LearnerDescription dearer = learner_;
  dearer.stages[0].forward_ms += 100;
  StreamConfig changed = Watching("rtsp://user:secret@camera/1");
  changed.entry = R"({"name": "gate", "source": {"uri": "rtsp://camera/1", "queue": 4}})";
  EXPECT_THAT(std::string(gate.Admit(changed, dearer).message()),
              HasSubstr("at 10 frames a second"));
  changed.name = "yard";  // A stream of its own, of a camera that another has.
  EXPECT_THAT(std::string(gate.Admit(changed, dearer).message()),
              HasSubstr("at 10 frames a second"));
  gate_.entry = R"({"name": "gate", "source": {"uri": "rtsp://camera/2"}})";
  EXPECT_THAT(std::string(gate.Admit(gate_, dearer, 15).message()),
              HasSubstr("at 15 frames a second"));
  gate_.name = "yard";
  gate_.learner.frames_per_second = 10;
  static_cast<void>(gate.Admit(gate_, learner_));
  gate_.learner.frames_per_second = 0;
  gate_.of_file = true;  // Where the file says no budget it starts anyway.
  EXPECT_TRUE(BudgetGate({}, streams_, announced_).Admit(gate_, dearer).ok());
  EXPECT_EQ(looks_, 0);
  streams_.Stop();
}

TEST_F(BudgetGateTest, ATestPictureAtAnotherRateIsReckonedAtThat) {
  BudgetGate gate({.cores = 1.5}, streams_, announced_);
  Run("street");
  Run("gate");
  StreamConfig faster = Watching("rtsp://user:secret@camera/1");
  faster.source.test_frames_per_second = 60;
  faster.entry =
      R"({"name": "gate", "source": {"uri": "test:ball", "test_frames_per_second": 60}})";
  EXPECT_FALSE(gate.Admit(faster, *streams_.All().back()->stream->learner()).ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, TheFilesOwnStreamsStartAnywayUnlessTheFileSaysABudget) {
  BudgetGate gate({}, streams_, announced_);
  Run("street", /*forward_ms=*/1e6);
  EXPECT_FALSE(gate.Admit(gate_, learner_).ok()) << "a client's";
  gate_.of_file = true;
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  EXPECT_FALSE(BudgetGate({.cores = 1}, streams_, announced_).Admit(gate_, learner_).ok());
  streams_.Stop();
}

// The other one is still being made: no stream of its name runs.
TEST_F(BudgetGateTest, WhatIsLeftIsGivenToOneOfTwoThatAreMadeAtTheSameTime) {
  BudgetGate gate({.cores = 2.5}, streams_, announced_);
  Run("street");
  StreamConfig other = gate_;
  other.name = "yard";
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
  EXPECT_THAT(std::string(gate.Admit(other, learner_).message()),
              AllOf(HasSubstr("'gate' takes 0.85"), HasSubstr("'street' takes 0.86")));
  gate.Release("gate");  // It could not start.
  EXPECT_TRUE(gate.Admit(other, learner_).ok());
  streams_.Stop();
}

// Hangs, and is killed by the test's timeout, where the changes of others wait for the stream that
// hangs.
TEST_F(BudgetGateTest, AStreamThatHangsHoldsUpNoChangeOfAnother) {
  BudgetGate gate({.cores = 1.5}, streams_, announced_);
  Run("street");
  Run("yard");
  std::promise<void> asked;
  std::promise<void> go_on;
  std::once_flag hangs;
  fakes_.front().learner->AtDescriptions([&] {
    std::call_once(hangs, [&] {
      asked.set_value();
      go_on.get_future().wait();
    });
  });
  auto admitted = std::async(std::launch::async, [&] { return gate.Admit(gate_, learner_); });
  asked.get_future().wait();
  gate.Hold("yard");
  gate.Release("yard");
  go_on.set_value();
  EXPECT_FALSE(admitted.get().ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, AStreamWhoseChangeIsOverWhileOthersAreLookedAtCounts) {
  BudgetGate gate({.cores = 2}, streams_, announced_);
  Run("street");
  StreamConfig yard = gate_;
  yard.name = "yard";
  EXPECT_TRUE(gate.Admit(yard, learner_).ok());
  bool is_over = false;
  fakes_.front().learner->AtDescriptions([&] {
    if (std::exchange(is_over, true)) return;
    Run("yard");
    gate.Release("yard");
  });
  EXPECT_THAT(std::string(gate.Admit(gate_, learner_).message()),
              AllOf(HasSubstr("'street' takes 0.86"), HasSubstr("'yard' takes 0.86")));
  streams_.Stop();
}

TEST_F(BudgetGateTest, WhatAStreamTakesIsKeptForItWhileItIsMadeAnew) {
  BudgetGate gate({.cores = 1.5}, streams_, announced_);
  Run("street");
  gate.Hold("street");
  streams_.Stop();  // Its old incarnation ends before the new one begins.
  EXPECT_FALSE(gate.Admit(gate_, learner_).ok());
  gate.Release("street");
  EXPECT_TRUE(gate.Admit(gate_, learner_).ok());
}

TEST_F(BudgetGateTest, OneOfTheSameEntryThatAnotherDefaultMakesDearerIsAsked) {
  BudgetGate gate({.cores = 0.1}, streams_, announced_);
  Run("street");
  Run("gate");
  StreamConfig changed = streams_.All().back()->config();
  pipeline::LearnerDescription dearer = learner_;
  dearer.stages[0].forward_ms += 100;
  EXPECT_TRUE(gate.Admit(changed, dearer).ok()) << "as it was";
  changed.effective = R"({"name": "gate", "model": {"input": [640, 480]}})";
  EXPECT_FALSE(gate.Admit(changed, dearer).ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, MemoryIsHeldByWhatStartsAndByWhatRuns) {
  BudgetGate gate({.memory_gb = 8}, streams_, announced_);
  Run("street", 20, *gate.HoldMemory(Watching("rtsp://camera/1", "street"), 5e9));
  const absl::StatusOr<HeldMemory> starting = gate.HoldMemory(gate_, 2e9);
  ASSERT_TRUE(starting.ok());
  const StreamConfig yard = Watching("rtsp://camera/3", "yard");
  EXPECT_EQ(gate.HoldMemory(yard, 2e9).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(gate.HoldMemory(yard, 1e9).ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, OneThatNeedsNoMoreMemoryThanBeforeIsNotAsked) {
  BudgetGate gate({.memory_gb = 8}, streams_, announced_);
  Run("gate", 20, *gate.HoldMemory(gate_, 5e9));
  EXPECT_TRUE(gate.HoldMemory(gate_, 5e9).ok()) << "both incarnations are there for a while";
  EXPECT_FALSE(gate.HoldMemory(gate_, 5.1e9).ok());
  streams_.Stop();
}

TEST_F(BudgetGateTest, TheFilesOwnStreamsTakeMemoryAnywayUnlessTheFileSaysABudget) {
  gate_.of_file = true;
  EXPECT_TRUE(BudgetGate({}, streams_, announced_).HoldMemory(gate_, 1e15).ok());
  EXPECT_FALSE(BudgetGate({.memory_gb = 8}, streams_, announced_).HoldMemory(gate_, 9e9).ok());
  gate_.of_file = false;
  EXPECT_FALSE(BudgetGate({}, streams_, announced_).HoldMemory(gate_, 1e15).ok());
}

}  // namespace
}  // namespace millrace::service
