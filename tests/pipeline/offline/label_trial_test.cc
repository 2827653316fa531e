#include "pipeline/offline/label_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace millrace::pipeline {
namespace {

using ::testing::SizeIs;

// Pictures of 2 x 2 in which one of four pixels is bright: easy.
Split EasyData() {
  Random random(3);
  LabelledSamples all{.shape = {1, 2, 2}, .unit = 1 / 255.F, .classes = 4};
  for (int i = 0; i < 200; ++i) {
    const int bright = static_cast<int>(random.Uniform(0, 4));
    all.labels.push_back(bright);
    for (int pixel = 0; pixel < 4; ++pixel) {
      all.bytes.push_back(
          static_cast<std::uint8_t>(random.Uniform(0, 100) + (pixel == bright ? 150 : 0)));
    }
  }
  return SplitSamples(all, 0.25, 1);
}

LabelTrialOptions SmallTrial() {
  return {.learner = {.schedule = "sequential",
                      .stages = 3,
                      .optimizer = {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = 0.1}},
          .task = {.layers = 3, .width = 12, .window = 8},
          .passes = 4};
}

LabelTrialResult ResultOf(const LabelTrialOptions& options) {
  auto result = RunLabelTrial(options, EasyData());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : LabelTrialResult{};
}

TEST(LabelTrialTest, LearnsWhatIsEasyAndSaysHowItWent) {
  LabelTrialOptions options = SmallTrial();
  options.score_every = 200;
  int told = 0;
  options.on_sample = [&] { ++told; };
  const LabelTrialResult result = ResultOf(options);
  EXPECT_EQ(told, 600);
  EXPECT_EQ(result.samples, 600);
  EXPECT_GT(result.test.accuracy, 0.95);
  EXPECT_LT(result.test.loss, 0.3);
  EXPECT_GT(result.prequential_accuracy, 0.3);
  ASSERT_THAT(result.along_the_way, SizeIs(3));
  EXPECT_EQ(result.along_the_way[0].samples, 200);
  EXPECT_EQ(result.along_the_way[2].accuracy, result.test.accuracy);
  EXPECT_EQ(result.labels.in_time, 600);
  EXPECT_EQ(result.updates, 3 * 600);
}

TEST(LabelTrialTest, SameOptionsGiveTheSameFigures) {
  for (const char* const schedule : {"stale", "partime", "hybrid"}) {
    LabelTrialOptions options = SmallTrial();
    options.learner.schedule = schedule;
    options.learner.request.switch_at = 300;
    options.label_delay = 5;
    const LabelTrialResult first = ResultOf(options);
    const LabelTrialResult second = ResultOf(options);
    EXPECT_EQ(first.test.loss, second.test.loss) << schedule;
    EXPECT_EQ(first.prequential_accuracy, second.prequential_accuracy) << schedule;
    options.learner.seed = 1;
    EXPECT_NE(ResultOf(options).test.loss, first.test.loss) << schedule;
  }
}

TEST(LabelTrialTest, LateLabelsTeachLessAndTooLateOnesNothing) {
  LabelTrialOptions options = SmallTrial();
  options.learner.schedule = "one_f_one_b_star";
  options.label_delay = 8;  // The last step that holds its sample begins after the label came.
  LabelTrialResult result = ResultOf(options);
  EXPECT_EQ(result.labels.late, 0);
  EXPECT_EQ(result.labels.too_late, 600 - 7);
  EXPECT_EQ(result.updates, 0);
  options.label_delay = 7;
  result = ResultOf(options);
  EXPECT_EQ(result.labels.late, 600 - 6);
  EXPECT_GT(result.test.accuracy, 0.9);
}

TEST(LabelTrialTest, SomeLabelsMayNeverCome) {
  LabelTrialOptions options = SmallTrial();
  options.labelled_share = 0.25;
  const LabelTrialResult result = ResultOf(options);
  EXPECT_NEAR(static_cast<double>(result.labels.in_time), 150, 40);
  EXPECT_GT(result.test.accuracy, 0.9);
  options.labelled_share = 2;
  EXPECT_TRUE(absl::IsInvalidArgument(RunLabelTrial(options, EasyData()).status()));
}

// What gpipe computes does not depend on how the network is cut, to the last bit: its gradients are
// those of the mini-batch.
TEST(LabelTrialTest, GpipeIsTheSameHoweverTheNetworkIsCut) {
  LabelTrialOptions options = SmallTrial();
  options.learner.schedule = "gpipe";
  const LabelTrialResult cut = ResultOf(options);
  options.learner.stages = 1;
  EXPECT_EQ(ResultOf(options).test.loss, cut.test.loss);
}

}  // namespace
}  // namespace millrace::pipeline
