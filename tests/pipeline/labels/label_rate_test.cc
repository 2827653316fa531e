// A learner of labels keeps a camera's rate: it plans for it, plans again, and learns less.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/labels/label_learner.h"
#include "pipeline/planner/replanner.h"
#include "tests/pipeline/support/label_options.h"
#include "tests/pipeline/support/max_staleness.h"
#include "tests/pipeline/support/stepping_clock.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr int kSide = 8;

// One frame a second, for which no stage needs to be stale.
class LabelRateTest : public ::testing::Test {
 protected:
  void Start(double replan_share) {
    options_.learner = {.width = kSide,
                        .height = kSide,
                        .schedule = "auto",
                        .stages = 2,
                        .frames_per_second = 1,
                        .replan_share = replan_share,
                        .clock = &clock_};
    options_.task = {.layers = 4, .width = 8, .outputs = 3, .window = 4};
    options_.task.divergence = kLabelDivergence;
    auto learner = MakeLabelLearner(options_.learner, options_.task, [this](ModelPrediction made) {
      predictions_.push_back(std::move(made));
    });
    ASSERT_TRUE(learner.ok()) << learner.status();
    learner_ = *std::move(learner);
  }

  // Every picture has its label.
  void Admit(int count = 1) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(learner_->AwaitRoom().ok());
      const std::vector<std::uint8_t> picture(std::size_t{3} * kSide * kSide,
                                              static_cast<std::uint8_t>(admitted_ % 3 * 100));
      const auto number =
          learner_->Admit({.previous = {},
                           .current = picture,
                           .label = SampleLabel(static_cast<std::int64_t>(admitted_ % 3))});
      ASSERT_TRUE(number.ok()) << number.status();
      ASSERT_EQ(*number, admitted_);
      ++admitted_;
    }
  }

  SteppingClock clock_;
  LabelOptions options_;
  std::vector<ModelPrediction> predictions_;
  std::unique_ptr<Learner> learner_;
  int admitted_ = 0;
};

TEST_F(LabelRateTest, PlansForTheCamerasRate) {
  Start(/*replan_share=*/0);
  const auto planned = learner_->description();
  ASSERT_TRUE(planned->rate_plan.has_value());
  EXPECT_TRUE(planned->rate_plan->holds);
  EXPECT_EQ(planned->rate_plan->frames_per_second, 1);
  EXPECT_EQ(planned->update_every, 1);
  EXPECT_EQ(MaxStaleness(*planned), 0);
  EXPECT_GT(planned->stages[0].forward_ms, 0);
  EXPECT_TRUE(planned->labels.has_value());
}

TEST_F(LabelRateTest, SlowerOperationsLeadToAnotherPlanAndNoSampleIsLost) {
  Start(/*replan_share=*/0.25);
  Admit(20);
  clock_.set_step(std::chrono::milliseconds(500));
  // Until it has planned: the test's time limit is the only one.
  while (!HasFailure() && learner_->description()->rate_plan->switched == 0) Admit();
  const auto switched = learner_->description();
  EXPECT_GT(MaxStaleness(*switched), 0);
  EXPECT_THAT(switched->rate_plan->why, HasSubstr("00 ms instead of"));
  EXPECT_TRUE(switched->labels.has_value()) << "a new description has all that the old one had";
  const std::int64_t updates = learner_->updates().front();
  Admit(40);
  ASSERT_TRUE(learner_->Drain().ok());

  ASSERT_EQ(predictions_.size(), static_cast<std::size_t>(admitted_));
  for (int i = 0; i < admitted_; ++i) {
    EXPECT_EQ(predictions_[i].sample, i);
    EXPECT_EQ(predictions_[i].labelled, std::min(i + 1, options_.task.window)) << i;
  }
  EXPECT_EQ(learner_->updates().size(), switched->stages.size());
  EXPECT_GT(learner_->updates().front(), updates) << "it goes on learning";
}

TEST_F(LabelRateTest, FollowsTheCamerasRate) {
  Start(/*replan_share=*/0.25);
  Admit(20);
  learner_->FollowRate(2);
  clock_.set_step(Replanner::kMinPause);  // The next plan is due.
  while (!HasFailure() && learner_->description()->rate_plan->frames_per_second == 1) Admit();
  EXPECT_EQ(learner_->description()->rate_plan->frames_per_second, 2);
  EXPECT_THAT(learner_->description()->rate_plan->why, HasSubstr("2 frames a second instead of 1"));
  ASSERT_TRUE(learner_->Drain().ok());
}

TEST_F(LabelRateTest, LearnsFromEveryNthStepAndPredictsAll) {
  Start(/*replan_share=*/0);
  Admit(3);
  learner_->LearnFromEvery(4);
  EXPECT_EQ(learner_->description()->update_every, 4);
  Admit(12);
  learner_->LearnFromEvery(0);
  Admit(5);
  ASSERT_TRUE(learner_->Drain().ok());
  ASSERT_EQ(predictions_.size(), 20U);
  int learned = 0;
  for (int i = 0; i < 20; ++i) {
    const bool learns = i < 3 || i == 6 || i == 10 || i == 14;
    EXPECT_EQ(predictions_[i].skipped, learns ? SkipReason::kNone : SkipReason::kRate) << i;
    EXPECT_GT(predictions_[i].loss, 0) << "a step that is not learned from has a score: " << i;
    learned += learns ? 1 : 0;
  }
  for (const std::int64_t updates : learner_->updates()) EXPECT_EQ(updates, learned);
}

TEST_F(LabelRateTest, AutoNeedsARate) {
  const auto refused = MakeLabelLearner({.width = kSide, .height = kSide, .schedule = "auto"},
                                        {.layers = 2, .outputs = 2, .divergence = kLabelDivergence},
                                        [](const ModelPrediction&) {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("say the camera's frames_per_second"));
}

}  // namespace
}  // namespace millrace::pipeline
