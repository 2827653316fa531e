#include "pipeline/decisions/learning_decisions.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr int kSide = 4;

// A learner whose flow is (dx, 0) everywhere.
class Stream {
 public:
  explicit Stream(const LearningOptions& options)
      : detector_(options.divergence), decisions_(options, detector_) {}

  SkipReason Next(float dx, double difference = 0.02, double ratio = 0.8, int every = 1) {
    std::vector<float> flow;
    for (int i = 0; i < kSide * kSide; ++i) flow.insert(flow.end(), {dx, 0});
    decisions_.OnAdmitted({.number = sample_, .difference = difference, .learn_from_every = every});
    return decisions_.Decide({.sample = sample_++,
                              .flow = flow,
                              .width = kSide,
                              .height = kSide,
                              .finite = true,
                              .loss = 0.05 * ratio,
                              .loss_no_motion = 0.05});
  }
  LearningDecisions& decisions() { return decisions_; }
  DivergenceDetector& detector() { return detector_; }

 private:
  DivergenceDetector detector_;
  LearningDecisions decisions_;
  std::int64_t sample_ = 0;
};

TEST(LearningDecisionsTest, LearnsFromWhatNothingSpeaksAgainst) {
  Stream stream({});
  EXPECT_EQ(stream.Next(0.1F), SkipReason::kNone);
}

TEST(LearningDecisionsTest, NamesTheFirstReasonAgainst) {
  Stream stream({.policy = {.kind = UpdatePolicyOptions::Kind::kMag}});
  EXPECT_EQ(stream.Next(100, /*difference=*/0), SkipReason::kRepeated);
  EXPECT_EQ(stream.Next(100), SkipReason::kLeavesPicture);
  EXPECT_EQ(stream.Next(0.0F, 0.02, 0.8, /*every=*/0), SkipReason::kRate);
  EXPECT_EQ(stream.Next(0.0F), SkipReason::kPolicy);
  EXPECT_EQ(stream.Next(0.3F), SkipReason::kNone);
}

TEST(LearningDecisionsTest, LearnsFromEveryNthWhereTimeIsShort) {
  Stream stream({});
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(stream.Next(0.1F, 0.02, 0.8, 3), i % 3 == 0 ? SkipReason::kNone : SkipReason::kRate);
  }
}

TEST(LearningDecisionsTest, SaysBeforeAPredictionWhatSpeaksAgainstItsSample) {
  DivergenceDetector detector({});
  LearningDecisions decisions({}, detector);
  decisions.OnAdmitted({.number = 0, .difference = 0.02});
  decisions.OnAdmitted({.number = 1, .difference = 0});
  decisions.OnAdmitted({.number = 2, .difference = 0.02, .learn_from_every = 0});
  decisions.OnAdmitted({.number = 3, .difference = 0.02, .learn_from_every = 2});
  decisions.OnAdmitted({.number = 4, .difference = 0.02, .learn_from_every = 2});
  EXPECT_TRUE(decisions.MayTeach(0));
  EXPECT_FALSE(decisions.MayTeach(1)) << "a repeated picture";
  EXPECT_FALSE(decisions.MayTeach(2)) << "no time";
  EXPECT_FALSE(decisions.MayTeach(3)) << "time for every other sample";
  EXPECT_TRUE(decisions.MayTeach(4));
}

// Stages that learn before the prediction is there must not do so more often than the last one.
TEST(LearningDecisionsTest, WhatAPolicyDecidesByThePicturesIsKnownBeforeThePrediction) {
  using Kind = UpdatePolicyOptions::Kind;
  for (const UpdatePolicyOptions& policy :
       {UpdatePolicyOptions{.every = 10}, UpdatePolicyOptions{.every = 10, .force_after = 3},
        UpdatePolicyOptions{.kind = Kind::kDiff, .difference = 0.03, .force_after = 4},
        UpdatePolicyOptions{.kind = Kind::kDiff, .difference = 0.03, .warm_up = 5}}) {
    Stream stream({.policy = policy});
    int learned = 0;
    for (int i = 0; i < 40; ++i) {
      const SkipReason decided = stream.Next(0.1F, i % 7 == 0 ? 0.04 : 0.02);
      EXPECT_EQ(stream.decisions().MayTeach(i), decided == SkipReason::kNone) << i;
      learned += decided == SkipReason::kNone ? 1 : 0;
    }
    EXPECT_GT(learned, 0);
    EXPECT_LT(learned, 40);
  }
}

TEST(LearningDecisionsTest, APolicyThatIsSetLaterWarmsUpAnew) {
  const UpdatePolicyOptions policy = {
      .kind = UpdatePolicyOptions::Kind::kDiff, .difference = 0.5, .warm_up = 3};
  Stream stream({.policy = policy});
  const auto learned_of = [&](int samples) {
    int learned = 0;
    for (int i = 0; i < samples; ++i) learned += stream.Next(0.1F) == SkipReason::kNone ? 1 : 0;
    return learned;
  };
  EXPECT_EQ(learned_of(100), 3);
  stream.decisions().SetPolicy(policy);
  EXPECT_EQ(learned_of(100), 3);
}

// Of three pictures any two may show no motion of things.
TEST(LearningDecisionsTest, WhatSpeaksAgainstTheOlderTwoOfThreePicturesSpeaksAgainstTheSample) {
  DivergenceDetector detector({});
  LearningDecisions decisions({}, detector);
  auto may_teach = [&, next = 0](double difference, double difference_before) mutable {
    decisions.OnAdmitted(
        {.number = next, .difference = difference, .difference_before = difference_before});
    return decisions.MayTeach(next++);
  };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(may_teach(0.02, 0.02));
  EXPECT_FALSE(may_teach(0.02, 0)) << "a repeated picture";
  EXPECT_FALSE(may_teach(0.3, 0.02)) << "a cut";
  EXPECT_FALSE(may_teach(0.02, 0.3)) << "a cut before";
  EXPECT_TRUE(may_teach(0.02, 0.02));
}

TEST(LearningDecisionsTest, StillPicturesSayNothingOfTheWeights) {
  Stream stream({.divergence = {.window = 5}});
  for (int i = 0; i < 50; ++i) static_cast<void>(stream.Next(0.1F, /*difference=*/0, /*ratio=*/9));
  EXPECT_FALSE(stream.detector().diverged());
  EXPECT_EQ(stream.detector().proven(), -1);
}

TEST(LearningDecisionsTest, NothingProvesGoodWhileThePictureStandsStill) {
  Stream stream({.divergence = {.window = 5}});
  for (int i = 0; i < 8; ++i) static_cast<void>(stream.Next(0.1F));
  const std::int64_t proven = stream.detector().proven();
  EXPECT_EQ(proven, 2);
  for (int i = 0; i < 50; ++i) static_cast<void>(stream.Next(0.1F, /*difference=*/0));
  EXPECT_EQ(stream.detector().proven(), proven);
}

TEST(LearningDecisionsTest, WeightsProveGoodOverAWindow) {
  Stream stream({.divergence = {.window = 5}});
  for (int i = 0; i < 4; ++i) static_cast<void>(stream.Next(0.1F));
  EXPECT_EQ(stream.detector().proven(), -1);
  static_cast<void>(stream.Next(0.1F));
  EXPECT_EQ(stream.detector().proven(), -1) << "the state before the first sample";
  static_cast<void>(stream.Next(0.1F));
  EXPECT_EQ(stream.detector().proven(), 0);
}

TEST(LearningDecisionsTest, GoesWrongAndStartsAnew) {
  Stream stream({.divergence = {.window = 5}});
  for (int i = 0; i < 5; ++i) static_cast<void>(stream.Next(0.1F));
  EXPECT_FALSE(stream.detector().diverged());
  for (int i = 0; i < 5; ++i) static_cast<void>(stream.Next(0.1F, 0.02, /*ratio=*/2));
  EXPECT_TRUE(stream.detector().diverged());
  stream.detector().Restart();
  EXPECT_FALSE(stream.detector().diverged());
}

}  // namespace
}  // namespace millrace::pipeline
