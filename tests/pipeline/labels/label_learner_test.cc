#include "pipeline/labels/label_learner.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

using Predictions = std::vector<LabelPrediction>;

LabelLearnerOptions SmallOptions() {
  return {.layers = 3,
          .width = 8,
          .sample_shape = {4},
          .outputs = 2,
          .window = 4,
          .optimizer = {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = 0.1}};
}

std::unique_ptr<LabelLearner> Make(const LabelLearnerOptions& options, Predictions& predictions) {
  auto learner = MakeLabelLearner(
      options, [&predictions](const LabelPrediction& made) { predictions.push_back(made); });
  EXPECT_TRUE(learner.ok()) << learner.status();
  return learner.ok() ? *std::move(learner) : nullptr;
}

void ExpectRefused(const LabelLearnerOptions& options, const std::string& message) {
  const auto refused = MakeLabelLearner(options, [](const LabelPrediction&) {});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(message));
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()) || absl::IsNotFound(refused.status()))
      << refused.status();
}

// Which of two numbers is larger.
struct LabelledInput {
  std::vector<float> values;
  std::int64_t label = 0;
};
std::vector<LabelledInput> Samples(int count) {
  Random random(4);
  std::vector<LabelledInput> samples;
  for (int i = 0; i < count; ++i) {
    LabelledInput& sample = samples.emplace_back();
    for (int k = 0; k < 4; ++k) sample.values.push_back(static_cast<float>(random.Bell()));
    sample.label = sample.values[0] > sample.values[3] ? 1 : 0;
  }
  return samples;
}

TEST(LabelLearnerTest, LearnsClassesFromLabels) {
  for (const char* const schedule : {"sequential", "one_f_one_b_star"}) {
    LabelLearnerOptions options = SmallOptions();
    options.schedule = schedule;
    options.stages = 3;
    Predictions predictions;
    const auto learner = Make(options, predictions);
    for (const LabelledInput& sample : Samples(600)) {
      ASSERT_TRUE(learner->Admit(sample.values, sample.label).ok());
    }
    ASSERT_TRUE(learner->Drain().ok());
    ASSERT_THAT(predictions, SizeIs(600));
    int right = 0;
    for (int i = 500; i < 600; ++i) {
      const LabelPrediction& made = predictions[i];
      right += made.best_class == Samples(600)[i].label ? 1 : 0;
      EXPECT_NEAR(made.outputs[0] + made.outputs[1], 1, 1e-5);
      EXPECT_EQ(made.labelled, 4);
    }
    EXPECT_GT(right, 85) << schedule;
  }
}

TEST(LabelLearnerTest, LearnsValues) {
  LabelLearnerOptions options = SmallOptions();
  options.task = LabelTask::kRegression;
  options.outputs = 1;
  options.optimizer.learning_rate = 0.03;
  Predictions predictions;
  const auto learner = Make(options, predictions);
  for (const LabelledInput& sample : Samples(800)) {
    const SampleLabel sum = std::vector<float>{sample.values[0] - sample.values[3]};
    ASSERT_TRUE(learner->Admit(sample.values, sum).ok());
  }
  ASSERT_TRUE(learner->Drain().ok());
  double first = 0;
  double last = 0;
  for (int i = 0; i < 100; ++i) {
    first += *predictions[i].loss;
    last += *predictions[700 + i].loss;
  }
  EXPECT_LT(last, 0.2 * first);
  EXPECT_THAT(predictions[0].outputs, SizeIs(1));
  EXPECT_EQ(predictions[0].best_class, -1);
}

TEST(LabelLearnerTest, WithoutLabelsItPredictsAndLearnsNothing) {
  Predictions predictions;
  const auto learner = Make(SmallOptions(), predictions);
  for (const LabelledInput& sample : Samples(20)) ASSERT_TRUE(learner->Admit(sample.values).ok());
  ASSERT_TRUE(learner->Drain().ok());
  ASSERT_THAT(predictions, SizeIs(20));
  for (const LabelPrediction& made : predictions) {
    EXPECT_EQ(made.labelled, 0);
    EXPECT_FALSE(made.loss.has_value());
    EXPECT_EQ(made.updates, 0);
  }
  EXPECT_THAT(learner->updates(), ElementsAre(0));
}

// The one label, sent after the prediction of sample 5, is learned from while the window holds
// sample 4: at steps 6 and 7. Nothing else ever has a label.
TEST(LabelLearnerTest, LateLabelTeachesUntilItsSampleLeavesTheWindow) {
  LabelLearnerOptions options = SmallOptions();
  Predictions predictions;
  std::vector<absl::StatusCode> sent;
  LabelLearner* at_work = nullptr;
  const auto learner = MakeLabelLearner(options, [&](const LabelPrediction& made) {
    predictions.push_back(made);
    if (made.sample == 5) sent.push_back(at_work->Label(4, std::int64_t{1}).code());
    if (made.sample == 8) sent.push_back(at_work->Label(5, std::int64_t{1}).code());
    if (made.sample == 9) sent.push_back(at_work->Label(99, std::int64_t{1}).code());
  });
  ASSERT_TRUE(learner.ok()) << learner.status();
  at_work = learner->get();
  for (const LabelledInput& sample : Samples(12)) ASSERT_TRUE(at_work->Admit(sample.values).ok());
  ASSERT_TRUE(at_work->Drain().ok());
  std::vector<int> labelled;
  for (const LabelPrediction& made : predictions) labelled.push_back(made.labelled);
  EXPECT_THAT(labelled, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0));
  EXPECT_THAT(at_work->updates(), ElementsAre(2));
  EXPECT_THAT(sent, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kOutOfRange,
                                absl::StatusCode::kNotFound));
  const LabelFigures figures = at_work->figures();
  EXPECT_EQ(figures.late, 1);
  EXPECT_EQ(figures.too_late, 1);
  EXPECT_EQ(figures.unknown, 1);
}

TEST(LabelLearnerTest, CopiesAreTheNetworkAfterTheirSample) {
  LabelLearnerOptions options = SmallOptions();
  options.schedule = "stale";
  options.stages = 3;
  options.copy_every = 20;
  std::vector<std::pair<std::int64_t, float>> copies;
  const LabelledInput asked = Samples(1)[0];
  options.on_copy = [&](std::int64_t sample, const LabelModel& model) {
    copies.emplace_back(sample, model.Outputs(asked.values)[0][0]);
  };
  const auto run = [&](int samples) {
    Predictions predictions;
    const auto learner = Make(options, predictions);
    for (const LabelledInput& sample : Samples(samples)) {
      EXPECT_TRUE(learner->Admit(sample.values, sample.label).ok());
    }
    EXPECT_TRUE(learner->Drain().ok());
    return learner->Model().Outputs(asked.values)[0][0];
  };
  const float after_forty = run(40);
  EXPECT_THAT(copies, ElementsAre(Pair(19, testing::_), Pair(39, after_forty)));
  copies.clear();
  run(60);
  EXPECT_THAT(copies[1], Pair(39, after_forty)) << "later samples change nothing";
}

TEST(LabelLearnerTest, WhatDoesNotFitIsRefusedAndHasNoNumber) {
  Predictions predictions;
  const auto learner = Make(SmallOptions(), predictions);
  const std::vector<float> good(4, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(learner->Admit(std::vector<float>(5)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(learner->Admit(std::vector<float>(4, NAN)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(learner->Admit(good, std::int64_t{2}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(learner->Admit(good, std::vector<float>{1, 2}).status()));
  const auto number = learner->Admit(good);
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(*number, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(learner->Label(0, std::int64_t{-1})));
  EXPECT_TRUE(learner->Drain().ok());
}

TEST(LabelLearnerTest, BadOptionsGetOneLineThatSaysWhatToDo) {
  const auto with = [](auto change) {
    LabelLearnerOptions options = SmallOptions();
    change(options);
    return options;
  };
  ExpectRefused(with([](auto& o) { o.window = 0; }), "a window of 0 samples");
  ExpectRefused(with([](auto& o) { o.outputs = 1; }), "2 classes");
  ExpectRefused(with([](auto& o) { o.stages = 4; }), "stages");
  ExpectRefused(with([](auto& o) { o.cuts = {3}; }), "cut");
  ExpectRefused(with([](auto& o) { o.schedule = "fast"; }), "use one of: sequential");
  ExpectRefused(with([](auto& o) { o.network = "big"; }), "use one of: mlp, convolutional");
  ExpectRefused(with([](auto& o) { o.network = "convolutional"; }), "channels, rows and columns");
  ExpectRefused(with([](auto& o) { o.layers = 1; }), "2 to 1000 layers");
  ExpectRefused(with([](auto& o) { o.model = "/none.pt"; }), "there is no model");
  ExpectRefused(with([](auto& o) {
                  o.schedule = "local";
                  o.stages = 2;
                }),
                "stage 1, which schedule local gives its own loss, makes [4, 8] of a window of 4");
}

TEST(LabelLearnerTest, ConvolutionalNetworkLearnsFromPictures) {
  LabelLearnerOptions options = SmallOptions();
  options.network = "convolutional";
  options.layers = 4;
  options.sample_shape = {1, 8, 8};
  options.stages = 2;
  options.schedule = "pipedream";
  Predictions predictions;
  const auto learner = Make(options, predictions);
  for (int i = 0; i < 300; ++i) {
    // A bar that stands or lies.
    std::vector<float> picture(64, 0);
    for (int k = 0; k < 8; ++k) picture[i % 2 == 0 ? 8 * k + i % 7 : 8 * (i % 7) + k] = 1;
    ASSERT_TRUE(learner->Admit(picture, std::int64_t{i % 2}).ok());
  }
  ASSERT_TRUE(learner->Drain().ok());
  int right = 0;
  for (int i = 250; i < 300; ++i) right += predictions[i].best_class == i % 2 ? 1 : 0;
  EXPECT_GT(right, 45);
}

TEST(LabelLearnerTest, RunsAUsersOwnNetwork) {
  const std::string path = std::filesystem::path(::testing::TempDir()) /
                           ("label_learner" + std::to_string(::getpid()) + ".pt");
  SaveNetwork({Child("A", 4, 6), Doubling(), Child("B", 6, 2)}, path);
  LabelLearnerOptions options = SmallOptions();
  options.model = path;
  options.stages = 2;
  options.schedule = "gpipe";
  Predictions predictions;
  const auto learner = Make(options, predictions);
  for (const LabelledInput& sample : Samples(41)) {
    ASSERT_TRUE(learner->Admit(sample.values, sample.label).ok());
  }
  ASSERT_TRUE(learner->Drain().ok());
  EXPECT_THAT(predictions, SizeIs(41));
  EXPECT_GT(learner->updates()[0], 0);
  options.outputs = 3;
  ExpectRefused(options,
                "the network makes [4, 2] of a window of 4 samples; 3 classes need [4, 3]");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace millrace::pipeline
