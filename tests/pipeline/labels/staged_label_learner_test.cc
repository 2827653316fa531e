#include "pipeline/labels/staged_label_learner.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/pipeline/support/label_options.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

using Predictions = std::vector<ModelPrediction>;

LabelOptions SmallOptions() {
  return {.learner = {.schedule = "sequential",
                      .stages = 1,
                      .optimizer = {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = 0.1}},
          .task = {.layers = 3, .width = 8, .sample_shape = {4}, .outputs = 2, .window = 4}};
}

std::unique_ptr<StagedLabelLearner> Make(const LabelOptions& options, Predictions& predictions,
                                         LabelCopies copies = {}) {
  auto learner = StagedLabelLearner::Make(
      options.learner, options.task,
      [&predictions](const ModelPrediction& made) { predictions.push_back(made); }, {},
      std::move(copies));
  EXPECT_TRUE(learner.ok()) << learner.status();
  return learner.ok() ? *std::move(learner) : nullptr;
}

void ExpectRefused(const LabelOptions& options, const std::string& message) {
  const auto refused =
      StagedLabelLearner::Make(options.learner, options.task, [](const ModelPrediction&) {});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(message));
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()) || absl::IsNotFound(refused.status()))
      << refused.status();
}

// Which of two numbers is larger.
struct Sample {
  std::vector<float> values;
  std::int64_t label = 0;
};
std::vector<Sample> Samples(int count) {
  Random random(4);
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    Sample& sample = samples.emplace_back();
    for (int k = 0; k < 4; ++k) sample.values.push_back(static_cast<float>(random.Bell()));
    sample.label = sample.values[0] > sample.values[3] ? 1 : 0;
  }
  return samples;
}

TEST(StagedLabelLearnerTest, OtherOptionsOfTheOptimizerChangeWhatIsLearnedFromThenOn) {
  const std::vector<Sample> samples = Samples(40);
  std::vector<std::vector<float>> outputs;
  for (const double weight_decay : {0.0, 0.5}) {
    Predictions predictions;
    const auto learner = Make(SmallOptions(), predictions);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (i == 20) {
        EXPECT_TRUE(
            learner
                ->SetOptimizer({.kind = OptimizerOptions::Kind::kSgd, .weight_decay = weight_decay})
                .ok());
      }
      EXPECT_TRUE(learner->AwaitRoom().ok());
      EXPECT_TRUE(learner->AdmitSample(samples[i].values, samples[i].label).ok());
    }
    EXPECT_TRUE(learner->Drain().ok());
    std::vector<float>& made = outputs.emplace_back();
    for (const ModelPrediction& one : predictions) made.push_back(one.outputs->front());
  }
  EXPECT_TRUE(std::equal(outputs[0].begin(), outputs[0].begin() + 21, outputs[1].begin()));
  EXPECT_NE(outputs[0].back(), outputs[1].back());
}

TEST(StagedLabelLearnerTest, LearnsClassesFromLabels) {
  for (const char* const schedule : {"sequential", "one_f_one_b_star"}) {
    LabelOptions options = SmallOptions();
    options.learner.schedule = schedule;
    options.learner.stages = 3;
    Predictions predictions;
    const auto learner = Make(options, predictions);
    for (const Sample& sample : Samples(600)) {
      ASSERT_TRUE(learner->AdmitSample(sample.values, sample.label).ok());
    }
    ASSERT_TRUE(learner->Drain().ok());
    ASSERT_THAT(predictions, SizeIs(600));
    int right = 0;
    for (int i = 500; i < 600; ++i) {
      const ModelPrediction& made = predictions[i];
      right += made.best_class == Samples(600)[i].label ? 1 : 0;
      EXPECT_NEAR(made.outputs->at(0) + made.outputs->at(1), 1, 1e-5);
      EXPECT_EQ(made.labelled, 4);
    }
    EXPECT_GT(right, 85) << schedule;
  }
}

TEST(StagedLabelLearnerTest, LearnsValues) {
  LabelOptions options = SmallOptions();
  options.task.task = LabelTask::kRegression;
  options.task.outputs = 1;
  options.learner.optimizer.learning_rate = 0.03;
  Predictions predictions;
  const auto learner = Make(options, predictions);
  for (const Sample& sample : Samples(800)) {
    const SampleLabel sum = std::vector<float>{sample.values[0] - sample.values[3]};
    ASSERT_TRUE(learner->AdmitSample(sample.values, sum).ok());
  }
  ASSERT_TRUE(learner->Drain().ok());
  double first = 0;
  double last = 0;
  for (int i = 0; i < 100; ++i) {
    first += predictions[i].loss;
    last += predictions[700 + i].loss;
  }
  EXPECT_LT(last, 0.2 * first);
  EXPECT_THAT(*predictions[0].outputs, SizeIs(1));
  EXPECT_EQ(predictions[0].best_class, -1);
}

TEST(StagedLabelLearnerTest, WithoutLabelsItPredictsAndLearnsNothing) {
  Predictions predictions;
  const auto learner = Make(SmallOptions(), predictions);
  for (const Sample& sample : Samples(20)) ASSERT_TRUE(learner->AdmitSample(sample.values).ok());
  ASSERT_TRUE(learner->Drain().ok());
  ASSERT_THAT(predictions, SizeIs(20));
  for (const ModelPrediction& made : predictions) {
    EXPECT_EQ(made.labelled, 0);
    EXPECT_FALSE(made.has_loss());
    EXPECT_EQ(made.updates, 0);
  }
  EXPECT_THAT(learner->updates(), ElementsAre(0));
}

// The one label, sent after the prediction of sample 5, is learned from while the window holds
// sample 4: at steps 6 and 7. Nothing else ever has a label.
TEST(StagedLabelLearnerTest, LateLabelTeachesUntilItsSampleLeavesTheWindow) {
  LabelOptions options = SmallOptions();
  Predictions predictions;
  std::vector<absl::StatusCode> sent;
  StagedLabelLearner* at_work = nullptr;
  const auto learner =
      StagedLabelLearner::Make(options.learner, options.task, [&](const ModelPrediction& made) {
        predictions.push_back(made);
        if (made.sample == 5) sent.push_back(at_work->Label(4, std::int64_t{1}).code());
        if (made.sample == 8) sent.push_back(at_work->Label(5, std::int64_t{1}).code());
        if (made.sample == 9) sent.push_back(at_work->Label(99, std::int64_t{1}).code());
      });
  ASSERT_TRUE(learner.ok()) << learner.status();
  at_work = learner->get();
  for (const Sample& sample : Samples(12)) ASSERT_TRUE(at_work->AdmitSample(sample.values).ok());
  ASSERT_TRUE(at_work->Drain().ok());
  std::vector<int> labelled;
  for (const ModelPrediction& made : predictions) labelled.push_back(made.labelled);
  EXPECT_THAT(labelled, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0));
  EXPECT_THAT(at_work->updates(), ElementsAre(2));
  EXPECT_THAT(sent, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kOutOfRange,
                                absl::StatusCode::kNotFound));
  const LabelFigures figures = at_work->figures();
  EXPECT_EQ(figures.late, 1);
  EXPECT_EQ(figures.too_late, 1);
  EXPECT_EQ(figures.unknown, 1);
}

TEST(StagedLabelLearnerTest, CopiesAreTheNetworkAfterTheirSample) {
  LabelOptions options = SmallOptions();
  options.learner.schedule = "stale";
  options.learner.stages = 3;
  std::vector<std::pair<std::int64_t, float>> copies;
  const Sample asked = Samples(1)[0];
  const LabelCopies taken{.every = 20,
                          .on_copy = [&](std::int64_t sample, const LabelModel& model) {
                            copies.emplace_back(sample, model.Outputs(asked.values)[0][0]);
                          }};
  const auto run = [&](int samples) {
    Predictions predictions;
    const auto learner = Make(options, predictions, taken);
    for (const Sample& sample : Samples(samples)) {
      EXPECT_TRUE(learner->AdmitSample(sample.values, sample.label).ok());
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

TEST(StagedLabelLearnerTest, WhatDoesNotFitIsRefusedAndHasNoNumber) {
  Predictions predictions;
  const auto learner = Make(SmallOptions(), predictions);
  const std::vector<float> good(4, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(learner->AdmitSample(std::vector<float>(5)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(learner->AdmitSample(std::vector<float>(4, NAN)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(learner->AdmitSample(good, std::int64_t{2}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(learner->AdmitSample(good, std::vector<float>{1, 2}).status()));
  const auto number = learner->AdmitSample(good);
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(*number, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(learner->Label(0, std::int64_t{-1})));
  EXPECT_TRUE(learner->Drain().ok());
}

TEST(StagedLabelLearnerTest, BadOptionsGetOneLineThatSaysWhatToDo) {
  const auto with = [](auto change) {
    LabelOptions options = SmallOptions();
    change(options);
    return options;
  };
  ExpectRefused(with([](auto& o) { o.task.window = 0; }), "a window of 0 samples");
  ExpectRefused(with([](auto& o) { o.task.outputs = 1; }), "2 classes");
  ExpectRefused(with([](auto& o) { o.learner.stages = 4; }), "stages");
  ExpectRefused(with([](auto& o) { o.learner.cuts = {3}; }), "cut");
  ExpectRefused(with([](auto& o) { o.learner.schedule = "fast"; }), "use one of: sequential");
  ExpectRefused(with([](auto& o) { o.task.network = "big"; }), "use one of: mlp, convolutional");
  ExpectRefused(with([](auto& o) { o.task.network = "convolutional"; }),
                "channels, rows and columns");
  ExpectRefused(with([](auto& o) { o.task.layers = 1; }), "2 to 1000 layers");
  ExpectRefused(with([](auto& o) { o.task.model = "/none.pt"; }), "there is no model");
  ExpectRefused(with([](auto& o) {
                  o.learner.schedule = "local";
                  o.learner.stages = 2;
                }),
                "stage 1, which schedule local gives its own loss, makes [4, 8] of a window of 4");
}

TEST(StagedLabelLearnerTest, EachStageHasItsShareOfTheRate) {
  const auto outputs_at = [](std::vector<double> rates) {
    LabelOptions options = SmallOptions();
    options.learner.stages = 2;
    options.learner.stage_rates = std::move(rates);
    Predictions predictions;
    const auto learner = Make(options, predictions);
    for (const Sample& sample : Samples(20)) {
      EXPECT_TRUE(learner->AdmitSample(sample.values, sample.label).ok());
    }
    EXPECT_TRUE(learner->Drain().ok());
    std::vector<float> outputs;
    for (const ModelPrediction& made : predictions) outputs.push_back(made.outputs->at(0));
    return outputs;
  };
  const std::vector<float> whole = outputs_at({});
  EXPECT_EQ(outputs_at({1, 1}), whole);
  EXPECT_NE(outputs_at({1, 0}), whole);
  EXPECT_NE(outputs_at({0, 1}), whole);
  EXPECT_NE(outputs_at({0, 1}), outputs_at({0, 0}));
}

TEST(StagedLabelLearnerTest, ConvolutionalNetworkLearnsFromPictures) {
  LabelOptions options = SmallOptions();
  options.task.network = "convolutional";
  options.task.layers = 4;
  options.task.sample_shape = {1, 8, 8};
  options.learner.stages = 2;
  options.learner.schedule = "pipedream";
  Predictions predictions;
  const auto learner = Make(options, predictions);
  for (int i = 0; i < 300; ++i) {
    // A bar that stands or lies.
    std::vector<float> picture(64, 0);
    for (int k = 0; k < 8; ++k) picture[i % 2 == 0 ? 8 * k + i % 7 : 8 * (i % 7) + k] = 1;
    ASSERT_TRUE(learner->AdmitSample(picture, std::int64_t{i % 2}).ok());
  }
  ASSERT_TRUE(learner->Drain().ok());
  int right = 0;
  for (int i = 250; i < 300; ++i) right += predictions[i].best_class == i % 2 ? 1 : 0;
  EXPECT_GT(right, 45);
}

TEST(StagedLabelLearnerTest, RunsAUsersOwnNetwork) {
  const std::string path = std::filesystem::path(::testing::TempDir()) /
                           ("label_learner" + std::to_string(::getpid()) + ".pt");
  SaveNetwork({Child("A", 4, 6), Doubling(), Child("B", 6, 2)}, path);
  LabelOptions options = SmallOptions();
  options.task.model = path;
  options.learner.stages = 2;
  options.learner.schedule = "gpipe";
  Predictions predictions;
  const auto learner = Make(options, predictions);
  for (const Sample& sample : Samples(41)) {
    ASSERT_TRUE(learner->AdmitSample(sample.values, sample.label).ok());
  }
  ASSERT_TRUE(learner->Drain().ok());
  EXPECT_THAT(predictions, SizeIs(41));
  EXPECT_GT(learner->updates()[0], 0);
  options.task.outputs = 3;
  ExpectRefused(options,
                "the network makes [4, 2] of a window of 4 samples; 3 classes need [4, 3]");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace millrace::pipeline
