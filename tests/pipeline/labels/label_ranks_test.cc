// A learner of labels whose stages run on several ranks: predictions, checkpoints and answers are
// those of one process.
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pipeline/labels/label_follower.h"
#include "pipeline/labels/label_learner.h"
#include "tests/pipeline/support/ranked_learners.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr int kWidth = 8;
constexpr int kHeight = 6;
constexpr int kOutputs = 3;
constexpr char kOwnNetwork[] = "own.pt";

struct Case {
  std::string name;
  std::string schedule = "one_f_one_b_star";
  LabelTaskOptions task = {};
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

LabelTaskOptions Watchful(LabelTaskOptions task = {}) {
  task.layers = 4;
  task.width = 8;
  task.outputs = kOutputs;
  task.divergence = kLabelDivergence;
  task.divergence->window = 10;
  return task;
}

LearnerOptions ThreeStages(const std::string& schedule) {
  return {.width = kWidth,
          .height = kHeight,
          .schedule = schedule,
          .stages = 3,
          .cuts = {1, 3},
          .optimizer = {.learning_rate = 0.01}};
}

int ClassOf(int frame) { return frame / 8 % kOutputs; }

// A picture of its class, with some noise.
std::vector<std::uint8_t> PictureOf(int frame) {
  std::vector<std::uint8_t> rgb(std::size_t{3} * kWidth * kHeight);
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const bool bright = static_cast<int>(i / 3) % kOutputs == ClassOf(frame);
    rgb[i] = static_cast<std::uint8_t>((bright ? 180 : 20) + (frame * 3 + i * 7) % 50);
  }
  return rgb;
}

SampleLabel LabelOf(int frame, LabelTask task) {
  if (task == LabelTask::kClassification) return std::int64_t{ClassOf(frame)};
  return std::vector<float>{1, -1, 0.1F * static_cast<float>(ClassOf(frame))};
}

class LabelRanksTest : public RankedLearnersTest {
 protected:
  void SetUp() override {
    RankedLearnersTest::SetUp();
    own_ = absl::StrCat(folder_.string(), "-", kOwnNetwork);
    torch::jit::Module flat("Flat");
    flat.define("def forward(self, x):\n  return x.flatten(1)\n");
    at::manual_seed(5);
    SaveNetwork(
        {flat, Child("A", kWidth * kHeight, 4), Normalizing(), Dropping(), Child("B", 4, kOutputs)},
        own_);
  }
  void TearDown() override {
    RankedLearnersTest::TearDown();
    std::filesystem::remove(own_);
  }

  // Two of three frames have labels.
  [[nodiscard]] RankedTask Task(LabelTaskOptions task) const {
    if (!task.model.empty()) task.model = own_;
    return {.make =
                [task](const LearnerOptions& options, OnPrediction on_prediction,
                       const LearnerHooks& hooks) {
                  return MakeLabelLearner(options, task, std::move(on_prediction), hooks);
                },
            .follow = FollowLabels,
            .show =
                [kind = task.task](int frame) {
                  ShownSample shown{.current = PictureOf(frame)};
                  if (frame % 3 != 0) shown.label = LabelOf(frame, kind);
                  return shown;
                },
            .freezes_by_sample = false};
  }

 private:
  std::string own_;
};

class EveryLabelRanks : public LabelRanksTest, public ::testing::WithParamInterface<Case> {};

TEST_P(EveryLabelRanks, LearnsAsOneProcess) {
  LearnsAsOneProcess(Task(GetParam().task), ThreeStages(GetParam().schedule));
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const char* schedule : {"one_f_one_b_star", "partime", "pipedream"}) {
    cases.push_back({schedule, schedule, Watchful({.window = 4})});
  }
  cases.push_back(
      {.name = "convolutional",
       .task =
           Watchful({.network = "convolutional", .grey = false, .task = LabelTask::kRegression})});
  cases.push_back({.name = "own", .task = Watchful({.model = kOwnNetwork, .window = 4})});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EveryLabelRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.name; });

// With a window of one, a step depends on no sample before the loss.
TEST_F(LabelRanksTest, GoOnFromGoodWeightsAfterOneIsLost) {
  const RankedTask task = Task(Watchful({.task = LabelTask::kRegression}));
  for (const char* schedule : {"one_f_one_b_star", "partime"}) {
    GoesOnFromGoodWeights(task, ThreeStages(schedule));
  }
}

TEST_F(LabelRanksTest, WhatTheyCannotDoIsRefusedInWords) {
  const auto refusal = [this](const std::string& schedule, std::vector<int> ranks) {
    LearnerOptions options = ThreeStages(schedule);
    options.rank_of_stage = std::move(ranks);
    options.frames_per_second = 10;
    const auto made = Task(Watchful()).make(options, [](ModelPrediction) {}, {});
    EXPECT_FALSE(made.ok());
    return std::string(made.status().message());
  };
  EXPECT_THAT(refusal("local", {2, 1, 0}), HasSubstr("cannot have the schedule local"));
  EXPECT_THAT(refusal("partime", {2, 1, 0}), HasSubstr("this server leads none"));
}

}  // namespace
}  // namespace millrace::pipeline
