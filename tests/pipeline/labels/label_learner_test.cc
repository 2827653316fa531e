#include "pipeline/labels/label_learner.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/labels/staged_label_learner.h"
#include "pipeline/learner/planar_picture.h"
#include "tests/pipeline/support/label_options.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

constexpr int kWidth = 4;
constexpr int kHeight = 3;

/// A picture of its own for each number.
std::vector<std::uint8_t> PictureOf(int number) {
  std::vector<std::uint8_t> rgb(std::size_t{3} * kWidth * kHeight);
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    rgb[i] = static_cast<std::uint8_t>(i * 7 + number * (31 + i));
  }
  return rgb;
}

LabelOptions SmallStream() {
  return {
      .learner = {.width = kWidth,
                  .height = kHeight,
                  .schedule = "partime",
                  .stages = 2,
                  .cuts = {1},
                  .optimizer = {.learning_rate = 0.01}},
      .task = {.layers = 3, .width = 8, .outputs = 3, .window = 4, .divergence = kLabelDivergence}};
}

/// All values of a prediction, bit for bit.
struct Said {
  std::vector<float> outputs;
  int best_class;
  int labelled;
  float loss;
  std::int64_t updates;
  bool operator==(const Said&) const = default;
};

TEST(PlanarOfTest, MakesZeroToOneChannelsFirst) {
  const std::vector<std::uint8_t> rgb = {255, 0, 51, 0, 255, 0};
  EXPECT_THAT(PlanarOf(rgb, 3), ElementsAre(1, 0, 0, 1, FloatEq(0.2F), 0));
  EXPECT_THAT(PlanarOf(rgb, 1), ElementsAre(FloatEq(0.299F + 0.114F * 0.2F), FloatEq(0.587F)));
}

class LabelLearnerTest : public testing::TestWithParam<LabelTask> {
 protected:
  static constexpr int kSamples = 40;

  /// With every fourth sample, after every other of the rest, never for those between.
  static bool LabelWith(int sample) { return sample % 4 == 0; }
  static bool LabelAfter(int sample) { return sample % 4 == 1; }
  [[nodiscard]] static SampleLabel LabelOf(int sample) {
    if (GetParam() == LabelTask::kClassification) return std::int64_t{sample % 3};
    return std::vector<float>{0.5F, static_cast<float>(sample % 5), -1};
  }
};

// What the service sees is what the learner of labels says, bit for bit.
TEST_P(LabelLearnerTest, SaysWhatIsSaidOfTheSamplesOfItsPictures) {
  LabelOptions options = SmallStream();
  options.task.task = GetParam();
  std::vector<Said> seen;
  Learner* stream = nullptr;
  auto adapted = MakeLabelLearner(options.learner, options.task, [&](const ModelPrediction& p) {
    EXPECT_EQ(p.flow, nullptr);
    EXPECT_EQ(p.skipped, p.labelled > 0 ? SkipReason::kNone : SkipReason::kUnlabelled);
    seen.push_back({*p.outputs, p.best_class, p.labelled, p.loss, p.updates});
    const int sample = static_cast<int>(p.sample);
    if (LabelAfter(sample)) {
      EXPECT_TRUE(stream->Label(sample, LabelOf(sample)).ok());
    }
  });
  ASSERT_TRUE(adapted.ok()) << adapted.status();
  stream = adapted->get();

  std::vector<Said> expected;
  StagedLabelLearner* fed = nullptr;
  auto learner =
      StagedLabelLearner::Make(options.learner, options.task, [&](const ModelPrediction& p) {
        expected.push_back({*p.outputs, p.best_class, p.labelled, p.loss, p.updates});
        const int sample = static_cast<int>(p.sample);
        if (LabelAfter(sample)) {
          EXPECT_TRUE(fed->Label(sample, LabelOf(sample)).ok());
        }
      });
  ASSERT_TRUE(learner.ok()) << learner.status();
  fed = learner->get();

  for (int i = 0; i < kSamples; ++i) {
    const std::vector<std::uint8_t> picture = PictureOf(i);
    std::optional<SampleLabel> label;
    if (LabelWith(i)) label = LabelOf(i);
    EXPECT_TRUE(stream->AwaitRoom().ok());
    EXPECT_THAT(stream->Admit({.previous = {}, .current = picture, .label = label}).value_or(-1),
                i);
    EXPECT_TRUE(fed->AdmitSample(PlanarOf(picture, 1), label).ok());
  }
  EXPECT_TRUE(stream->Drain().ok());
  EXPECT_TRUE(fed->Drain().ok());
  EXPECT_EQ(seen.size(), std::size_t{kSamples});
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(stream->updates(), fed->updates());
  EXPECT_GT(stream->updates().back(), 0);
}

INSTANTIATE_TEST_SUITE_P(Tasks, LabelLearnerTest,
                         testing::Values(LabelTask::kClassification, LabelTask::kRegression),
                         [](const auto& tested) {
                           return tested.param == LabelTask::kRegression ? "Regression"
                                                                         : "Classification";
                         });

TEST(LabelLearnerDescriptionTest, SaysWhatItLearnsAndHowItWasCut) {
  LabelOptions options = SmallStream();
  options.learner.cuts.clear();
  options.task.classes = {"cat", "dog", "cow"};
  const auto learner =
      MakeLabelLearner(options.learner, options.task, [](const ModelPrediction&) {});
  ASSERT_TRUE(learner.ok()) << learner.status();
  const auto description = (*learner)->description();
  EXPECT_EQ(description->schedule, "partime");
  EXPECT_EQ(description->width, kWidth);
  EXPECT_EQ(description->stages.size(), 2u);
  EXPECT_GT(description->stages[0].forward_ms, 0);
  EXPECT_GT(description->samples_per_second, 0);
  ASSERT_TRUE(description->labels.has_value());
  EXPECT_EQ(description->labels->outputs, 3);
  EXPECT_EQ(description->labels->window, 4);
  EXPECT_THAT(description->labels->classes, ElementsAre("cat", "dog", "cow"));
  EXPECT_EQ((*learner)->resumption().first_sample, 0);
}

TEST(LabelLearnerDescriptionTest, RefusesWhatDoesNotFit) {
  const LabelOptions options = SmallStream();
  const auto learner =
      MakeLabelLearner(options.learner, options.task, [](const ModelPrediction&) {});
  ASSERT_TRUE(learner.ok()) << learner.status();
  const std::vector<std::uint8_t> small(3);
  EXPECT_EQ((*learner)->Admit({.previous = {}, .current = small}).status().message(),
            "a picture of 3 bytes is not 4x3 RGB");
  LabelOptions deep = SmallStream();
  deep.learner.cuts.clear();
  deep.learner.stages = 9;
  EXPECT_EQ(
      MakeLabelLearner(deep.learner, deep.task, [](const ModelPrediction&) {}).status().code(),
      absl::StatusCode::kInvalidArgument);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(MakeLabelLearner(options.learner, options.task, [](const ModelPrediction&) {},
                             {.stop = stop.get_token()})
                .status()
                .code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace millrace::pipeline
