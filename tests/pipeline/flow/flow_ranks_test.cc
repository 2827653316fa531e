// A learner of optical flow whose stages run on several ranks: predictions, checkpoints and answers
// are those of one process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "pipeline/flow/flow_follower.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/ranks/rank_task.h"
#include "tests/pipeline/support/fake_rank_group.h"
#include "tests/pipeline/support/moving_waves.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

// What a learner has done.
struct Learned {
  std::vector<ModelPrediction> predictions;
  ModelPrediction answer;  // Of Predict(), after the end.
  std::vector<std::int64_t> updates;
  LearningFigures figures;
  std::map<std::string, std::string> checkpoint;  // The stages' files, by name.
};

std::string ContentOf(const std::filesystem::path& path) {
  std::stringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

struct Case {
  std::string name;
  LearnerOptions options;
  FlowTaskOptions task = {};
};

class FlowRanksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) / ("flow_ranks_" + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The leader runs on this thread. `other_ranks` follow it.
  [[nodiscard]] Learned Learn(const Case& learns, const std::vector<int>& ranks) {
    std::filesystem::remove_all(folder_);
    LearnerOptions options = learns.options;
    options.width = options.height = kWavesSide;
    options.checkpoints = {.folder = folder_.string(), .every = 20};
    options.copy_every = 10;
    options.rank_of_stage = ranks;
    const int size = ranks.empty() ? 1 : ranks.front() + 1;
    FakeWires wires(size, /*seed=*/3);
    std::vector<std::jthread> followers;
    LearnerHooks hooks;
    hooks.join_ranks = [&](int wanted, const std::stop_token&) {
      EXPECT_EQ(wanted, size);
      for (int rank = 1; rank < size; ++rank) {
        followers.emplace_back([&wires, rank, size] { Follow(wires, rank, size); });
      }
      return std::make_unique<FakeRankGroup>(wires, 0, size);
    };
    Learned learned;
    auto learner = MakeFlowLearner(
        options, learns.task,
        [&](ModelPrediction made) { learned.predictions.push_back(std::move(made)); }, hooks);
    EXPECT_TRUE(learner.ok()) << learner.status();
    if (learner.ok()) Finish(**learner, learned);
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_)) {
      if (file.path().extension() != ".safetensors") continue;
      learned.checkpoint[file.path().lexically_relative(folder_)] = ContentOf(file.path());
    }
    return learned;
  }

 private:
  static void Follow(FakeWires& wires, int rank, int size) {
    FakeRankGroup group(wires, rank, size);
    const auto task = ReceiveTask(group);
    ASSERT_TRUE(task.ok()) << task.status();
    const absl::Status end = FollowFlow(group, *task);
    EXPECT_TRUE(end.ok()) << end;
  }

  static Sample Moving(int i, std::vector<std::uint8_t>& previous,
                       std::vector<std::uint8_t>& current) {
    previous = Waves(1.3 * i);
    current = Waves(1.3 * (i + 1));
    return {.previous = previous, .current = current};
  }

  static void Finish(Learner& learner, Learned& learned) {
    constexpr int kSamples = 60;
    std::vector<std::uint8_t> previous;
    std::vector<std::uint8_t> current;
    for (int i = 0; i < kSamples; ++i) {
      ASSERT_TRUE(learner.AwaitRoom().ok());
      if (i == 25) {
        ASSERT_TRUE(learner.SetLearningRate(5e-5).ok());
      }
      if (i == 40) learner.Freeze(true);
      if (i == 50) learner.Freeze(false);
      const auto admitted = learner.Admit(Moving(i, previous, current));
      ASSERT_TRUE(admitted.ok()) << admitted.status();
    }
    const absl::Status drained = learner.Drain();
    ASSERT_TRUE(drained.ok()) << drained;
    learned.updates = learner.updates();
    learned.figures = learner.learning();
    auto answer = learner.Predict(Moving(70, previous, current));
    ASSERT_TRUE(answer.ok()) << answer.status();
    learned.answer = *std::move(answer);
  }

  std::filesystem::path folder_;
};

class EveryFlowRanks : public FlowRanksTest, public ::testing::WithParamInterface<Case> {};

TEST_P(EveryFlowRanks, LearnsAsOneProcess) {
  const Learned one = Learn(GetParam(), {});
  ASSERT_EQ(one.predictions.size(), 60U);
  EXPECT_FALSE(one.checkpoint.empty());
  const int stages = GetParam().options.stages;
  std::vector<int> last_alone(stages, 1);
  last_alone.back() = 0;
  std::vector<int> each(stages);
  for (int i = 0; i < stages; ++i) each[i] = stages - 1 - i;
  for (const std::vector<int>& ranks : {last_alone, each}) {
    SCOPED_TRACE(testing::PrintToString(ranks));
    const Learned several = Learn(GetParam(), ranks);
    ASSERT_EQ(several.predictions.size(), one.predictions.size());
    for (std::size_t i = 0; i < one.predictions.size(); ++i) {
      const ModelPrediction& a = several.predictions[i];
      const ModelPrediction& b = one.predictions[i];
      ASSERT_EQ(*a.flow, *b.flow) << "prediction " << i;
      EXPECT_EQ(a.loss, b.loss) << i;
      EXPECT_EQ(a.updates, b.updates) << i;
      EXPECT_EQ(a.skipped, b.skipped) << i;
    }
    EXPECT_EQ(*several.answer.flow, *one.answer.flow);
    EXPECT_EQ(several.updates, one.updates);
    EXPECT_EQ(several.checkpoint, one.checkpoint);
  }
}

std::vector<Case> AllCases() {
  const std::vector<int> cuts = {2, 5};
  LearningOptions watchful;
  watchful.divergence.window = 10;
  std::vector<Case> cases;
  for (const char* schedule : {"one_f_one_b_star", "partime", "pipedream"}) {
    cases.push_back({schedule,
                     {.schedule = schedule, .stages = 3, .cuts = cuts},
                     {.network = "flow", .learning = watchful}});
  }
  cases.push_back({"refine",
                   {.schedule = "one_f_one_b_star", .stages = 3, .cuts = cuts},
                   {.network = "refine", .learning = watchful}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EveryFlowRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// The moment of a roll-back depends on timing, so the bits do, too.
TEST_F(FlowRanksTest, RollBackDivergedWeightsOnAllRanks) {
  Case diverges{"diverges",
                {.schedule = "one_f_one_b_star",
                 .stages = 3,
                 .cuts = {2, 5},
                 .optimizer = {.learning_rate = 0.3, .clip_update = 0}},
                {.network = "flow"}};
  diverges.task.learning.divergence.window = 10;
  const Learned learned = Learn(diverges, {2, 1, 0});
  EXPECT_EQ(learned.predictions.size(), 60U);
  EXPECT_GT(learned.figures.roll_backs, 0);
  EXPECT_TRUE(learned.answer.finite);
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
  EXPECT_THAT(refusal({.schedule = "auto", .frames_per_second = 10}),
              HasSubstr("several hosts cannot have the schedule auto"));
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
