// A learner of labels rolls back when it has gone wrong, resumes after its end, and reports both.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "pipeline/decisions/rate_backoff.h"
#include "pipeline/labels/staged_label_learner.h"
#include "tests/pipeline/support/label_options.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kWindow = 4;

LabelOptions SmallOptions() {
  return {.learner = {.schedule = "sequential",
                      .stages = 1,
                      .optimizer = {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = 0.02},
                      .copy_every = 10},
          .task = {.layers = 3,
                   .width = 8,
                   .sample_shape = {4},
                   .outputs = 2,
                   .window = kWindow,
                   .divergence = DivergenceOptions{.window = 10, .max_loss = 3, .max_refused = 5}}};
}

/// Four numbers; its class says whether the first is larger than the last.
std::vector<float> SampleAt(std::int64_t number) {
  Random random(static_cast<std::uint64_t>(number));
  std::vector<float> values;
  for (int i = 0; i < 4; ++i) values.push_back(static_cast<float>(random.Bell()));
  return values;
}
std::int64_t ClassAt(std::int64_t number) {
  const std::vector<float> values = SampleAt(number);
  return values[0] > values[3] ? 1 : 0;
}

/// A learner and its predictions.
class TestLearner {
 public:
  explicit TestLearner(const LabelOptions& options) {
    auto made = StagedLabelLearner::Make(
        options.learner, options.task,
        [this](const ModelPrediction& prediction) { predictions_.push_back(prediction); });
    status_ = made.status();
    if (!made.ok()) return;
    learner_ = *std::move(made);
    next_ = learner_->resumption().first_sample;
  }

  void Learn(int samples, bool swapped = false) {
    for (int i = 0; i < samples; ++i, ++next_) {
      const std::int64_t right = ClassAt(next_);
      Admit(swapped ? 1 - right : right);
    }
  }
  void Predict(int samples) {
    for (int i = 0; i < samples; ++i, ++next_) Admit(std::nullopt);
  }
  /// Their sum, which a network can learn.
  void LearnSum(int samples) {
    for (int i = 0; i < samples; ++i, ++next_) {
      const std::vector<float> values = SampleAt(next_);
      Admit(std::vector<float>{std::accumulate(values.begin(), values.end(), 0.0F)});
    }
  }
  void LearnValues(int samples, float value) {
    for (int i = 0; i < samples; ++i, ++next_) Admit(std::vector<float>{value});
  }
  /// All predictions.
  std::vector<ModelPrediction> End() {
    EXPECT_TRUE(learner_->Drain().ok());
    return predictions_;
  }

  StagedLabelLearner* operator->() const { return learner_.get(); }
  [[nodiscard]] const absl::Status& status() const { return status_; }

 private:
  void Admit(std::optional<SampleLabel> label) {
    ASSERT_TRUE(learner_->AwaitRoom().ok());
    EXPECT_EQ(learner_->AdmitSample(SampleAt(next_), std::move(label)).value_or(-1), next_);
  }

  std::vector<ModelPrediction> predictions_;
  absl::Status status_;
  std::int64_t next_ = 0;
  std::unique_ptr<StagedLabelLearner> learner_;
};

double RightShare(const std::vector<ModelPrediction>& predictions, std::size_t first,
                  std::size_t end) {
  int right = 0;
  for (std::size_t i = first; i < end; ++i) {
    right += predictions[i].best_class == ClassAt(predictions[i].sample) ? 1 : 0;
  }
  return right / static_cast<double>(end - first);
}

// A label that no network can follow tears the weights apart; then those before are there again.
TEST(LabelSafetyTest, WeightsThatGoWrongAreGivenUpForTheLastGoodOnes) {
  for (const char* const schedule : {"sequential", "one_f_one_b_star"}) {
    LabelOptions options = SmallOptions();
    options.task.task = LabelTask::kRegression;
    options.task.outputs = 1;
    options.learner.schedule = schedule;
    options.learner.stages = 2;
    const auto learn = [](TestLearner& learner) {
      learner.LearnValues(100, 1);
      learner.LearnValues(1, 1e6F);
      learner.LearnValues(100, 1);
      std::vector<ModelPrediction> predicted = learner.End();
      EXPECT_EQ(predicted.size(), 201U) << "none is lost";
      EXPECT_NEAR(predicted[99].outputs->at(0), 1, 1);
      for (const ModelPrediction& made : predicted) {
        EXPECT_TRUE(made.has_loss());
        EXPECT_EQ(made.finite, std::isfinite(made.outputs->at(0)) && std::isfinite(made.loss));
      }
      return predicted.back();
    };
    TestLearner safe(options);
    EXPECT_NEAR(learn(safe).outputs->at(0), 1, 1) << schedule;
    EXPECT_EQ(safe->learning().roll_backs, 1) << schedule;
    EXPECT_EQ(safe->learning().rate_scale, 0.5);
    options.task.divergence.reset();
    TestLearner unsafe(options);
    const ModelPrediction torn = learn(unsafe);
    EXPECT_TRUE(!torn.finite || std::abs(torn.outputs->at(0) - 1) > 1) << torn.outputs->at(0);
    EXPECT_EQ(unsafe->learning().roll_backs, 0);
  }
}

// Each label is right about half of the time. So the loss is neither better than the loss of zeros,
// nor much worse.
TEST(LabelSafetyTest, LabelsThatCannotBeLearnedAreNoReasonToGoBack) {
  TestLearner learner(SmallOptions());
  for (int i = 0; i < 400; ++i) learner.Learn(1, /*swapped=*/i % 2 == 0);
  learner.End();
  EXPECT_EQ(learner->learning().roll_backs, 0);
  EXPECT_EQ(learner->learning().rate_scale, 1);
}

TEST(LabelSafetyTest, LabelsThatMeanSomethingElseAreDrift) {
  LabelOptions options = SmallOptions();
  options.learner.copy_every = 100;
  options.task.divergence = kLabelDivergence;
  TestLearner learner(options);
  learner.Learn(1000);
  EXPECT_EQ(learner->learning().drifts, 0);
  learner.Learn(200, /*swapped=*/true);
  const std::vector<ModelPrediction> predicted = learner.End();
  EXPECT_GE(learner->learning().drifts, 1);
  const auto first = std::ranges::find_if(predicted, &ModelPrediction::drift);
  ASSERT_NE(first, predicted.end());
  EXPECT_GE(first->sample, 1000);
}

class LabelCheckpointsTest : public ::testing::Test {
 public:
  ~LabelCheckpointsTest() override { fs::remove_all(folder_); }

 protected:
  LabelCheckpointsTest()
      : folder_(fs::path(::testing::TempDir()) /
                (std::string("label_checkpoints_test_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 std::to_string(::getpid()))) {}

  [[nodiscard]] LabelOptions Options() const {
    LabelOptions options = SmallOptions();
    options.learner.checkpoints = {.folder = folder_.string(), .every = 20};
    return options;
  }
  void ExpectRefused(const LabelOptions& options, const std::string& why) const {
    const TestLearner other(options);
    EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(other.status().message()), HasSubstr(why));
  }

  const fs::path folder_;
};

// At a rate of 1 the first update tears the weights apart, so there never was a good prediction to
// compare with but the first. With the halves of it that are left it learns after all.
TEST_F(LabelCheckpointsTest, ARateThatIsFarTooHighFallsUntilItLearnsAndNothingBadIsKept) {
  LabelOptions options = Options();
  options.task.task = LabelTask::kRegression;
  options.task.outputs = 1;
  options.learner.optimizer.learning_rate = 1;
  options.task.divergence = {.window = 100, .max_loss = 3, .max_refused = 20};
  TestLearner learner(options);
  int samples = 0;
  const auto learns = [&] { return learner->learning().checkpoints.written > 0; };
  for (; samples < 20'000 && !learns(); ++samples) learner.LearnSum(1);
  const std::vector<ModelPrediction> predicted = learner.End();
  EXPECT_GE(learner->learning().roll_backs, 1);
  EXPECT_LT(learner->learning().rate_scale, 1);
  const std::vector<CheckpointInfo> kept = ListCheckpoints(folder_.string());
  ASSERT_FALSE(kept.empty()) << "after " << samples;
  for (const CheckpointInfo& checkpoint : kept) {
    EXPECT_LE(checkpoint.score, 1) << checkpoint.name;
  }
}

// A rate with which no halving helps: its predictions are those of the weights that it began with.
TEST_F(LabelCheckpointsTest, ALearnerThatGoesWrongTwelveTimesInARowIsHeldOnItsLastGoodWeights) {
  LabelOptions options = Options();
  options.task.task = LabelTask::kRegression;
  options.task.outputs = 1;
  options.learner.optimizer.learning_rate = 1e5;
  TestLearner learner(options);
  const std::vector<std::vector<float>> start = learner->Model().Outputs(SampleAt(0));
  for (int i = 0; i < 10'000 && learner->learning().rate_scale > 0; ++i) learner.LearnSum(1);
  EXPECT_EQ(learner->learning().rate_scale, 0);
  EXPECT_EQ(learner->learning().roll_backs, RateBackoff::kMaxRollBacks);
  learner.LearnSum(200);
  EXPECT_EQ(learner->learning().roll_backs, RateBackoff::kMaxRollBacks);
  const std::vector<ModelPrediction> predicted = learner.End();
  EXPECT_EQ(learner->Model().Outputs(SampleAt(0)), start);
  ASSERT_GE(predicted.size(), 200U);
  for (std::size_t i = predicted.size() - 200; i < predicted.size(); ++i) {
    EXPECT_THAT(*predicted[i].outputs,
                ::testing::Pointwise(::testing::FloatNear(1e-5F),
                                     learner->Model().Outputs(SampleAt(predicted[i].sample))[0]));
  }
}

// It resumes from a state that has proven good, with a good rate, until a caller sets another.
TEST_F(LabelCheckpointsTest, TheProcessAfterOneThatGaveUpTriesWhatIsLeftOfTheRate) {
  LabelOptions options = Options();
  options.task.task = LabelTask::kRegression;
  options.task.outputs = 1;
  {
    TestLearner learner(options);
    learner.LearnSum(200);
    learner->ScaleLearningRate(1e7);
    for (int i = 0; i < 10'000 && learner->learning().rate_scale > 0; ++i) learner.LearnSum(1);
    EXPECT_EQ(learner->learning().rate_scale, 0);
    learner.LearnSum(50);
    learner.End();
  }
  const TestLearner next(options);
  ASSERT_TRUE(next.status().ok()) << next.status();
  EXPECT_GT(next->resumption().first_sample, 200);
  EXPECT_NEAR(next->learning().rate_scale, 1.0 / 4096, 1e-9);
}

TEST_F(LabelCheckpointsTest, GoesOnBitForBitWhereEachSampleStandsAlone) {
  LabelOptions options = Options();
  options.task.window = 1;
  options.learner.optimizer = {.kind = OptimizerOptions::Kind::kAdam, .learning_rate = 0.01};
  LabelOptions without = options;
  without.task.divergence.reset();
  TestLearner whole(without);
  whole.Learn(40);
  const std::vector<ModelPrediction> expected = whole.End();
  {
    TestLearner first(options);
    first.Learn(25);
    first.End();
  }
  TestLearner second(options);
  ASSERT_TRUE(second.status().ok()) << second.status();
  EXPECT_THAT(second->resumption().checkpoint, HasSubstr("checkpoint-000000000024"));
  EXPECT_EQ(second->resumption().first_sample, 25);
  second.Learn(15);
  const std::vector<ModelPrediction> predicted = second.End();
  ASSERT_EQ(predicted.size(), 15U);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    EXPECT_EQ(predicted[i].sample, expected[25 + i].sample);
    EXPECT_EQ(*predicted[i].outputs, *expected[25 + i].outputs);
    EXPECT_EQ(predicted[i].updates, expected[25 + i].updates);
  }
}

// The window starts again, at its own row. The learned weights are there, and the content of the
// other rows does not change them.
TEST_F(LabelCheckpointsTest, EachRowOfTheWindowIsItsSampleWhereverItGoesOn) {
  std::vector<std::vector<float>> expected;
  {
    TestLearner first(Options());
    first.Learn(401);  // No multiple of the window.
    first.End();
    for (int i = 0; i < 30; ++i) {
      expected.push_back(first->Model().Outputs(SampleAt(401 + i))[0]);
    }
  }
  TestLearner second(Options());
  ASSERT_TRUE(second.status().ok()) << second.status();
  EXPECT_EQ(second->Label(400, std::int64_t{1}).code(), absl::StatusCode::kNotFound)
      << "a sample of the process before";
  second.Predict(30);
  const std::vector<ModelPrediction> predicted = second.End();
  ASSERT_EQ(predicted.size(), 30U);
  EXPECT_GE(RightShare(predicted, 0, 30), 0.8);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    EXPECT_THAT(*predicted[i].outputs,
                ::testing::Pointwise(::testing::FloatNear(1e-5F), expected[i]));
    EXPECT_EQ(predicted[i].labelled, 0);
  }
}

TEST_F(LabelCheckpointsTest, WhatWasLearnedForAnotherTaskIsRefused) {
  LabelOptions options = Options();
  options.task.classes = {"shut", "open"};
  {
    TestLearner first(options);
    first.Learn(25);
    first.End();
  }
  options.task.classes = {"open", "shut"};
  ExpectRefused(
      options,
      "was learned for classification of 'shut', 'open' where this is classification of "
      "'open', 'shut'; configure that again, or another folder to start from the beginning");
  options.task.classes.clear();
  options.task.task = LabelTask::kRegression;
  ExpectRefused(options, "where this is regression");
  options = Options();
  options.task.width = 9;
  options.task.classes = {"shut", "open"};
  ExpectRefused(options, "is of another network");
}

// A crash is a learner that is never drained.
TEST_F(LabelCheckpointsTest, WhileItLearnsItKeepsWhatHasProvenGood) {
  {
    TestLearner first(Options());
    first.Learn(200);
  }
  const TestLearner second(Options());
  ASSERT_TRUE(second.status().ok()) << second.status();
  EXPECT_GE(second->resumption().first_sample, 100);
  EXPECT_LE(second->resumption().first_sample, 190) << "the last window has proven nothing yet";
}

}  // namespace
}  // namespace millrace::pipeline
