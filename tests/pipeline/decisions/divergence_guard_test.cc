#include "pipeline/decisions/divergence_guard.h"

#include <limits>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

PredictionHealth Good(double ratio = 0.8) { return {.loss = 0.05 * ratio, .loss_no_motion = 0.05}; }

DivergenceGuard After(int predictions, const PredictionHealth& health,
                      const DivergenceOptions& options = {}) {
  DivergenceGuard guard(options);
  for (int i = 0; i < predictions; ++i) static_cast<void>(guard.Next(health));
  return guard;
}

TEST(DivergenceGuardTest, LetsGoodPredictionsTeach) {
  DivergenceGuard guard({});
  EXPECT_EQ(guard.Next(Good()), SkipReason::kNone);
  EXPECT_FALSE(guard.Diverged());
}

TEST(DivergenceGuardTest, RefusesWhatIsNotFiniteOrPointsAway) {
  DivergenceGuard guard({});
  EXPECT_EQ(guard.Next({.finite = false}), SkipReason::kNonFinite);
  EXPECT_EQ(guard.Next({.leaving_share = 0.6, .loss = 1, .loss_no_motion = 1}),
            SkipReason::kLeavesPicture);
  EXPECT_EQ(guard.Next({.motion = 0.7, .loss = 1, .loss_no_motion = 1}), SkipReason::kTooFast);
}

void Take(int predictions, const PredictionHealth& health, DivergenceGuard& guard) {
  for (int i = 0; i < predictions; ++i) static_cast<void>(guard.Next(health));
}

TEST(DivergenceGuardTest, ALossThatRisesAboveNoMotionOverAWindowIsDivergence) {
  DivergenceGuard guard = After(100, Good());
  Take(30, Good(1.5), guard);
  EXPECT_FALSE(guard.Diverged()) << "over the window it is still low";
  Take(70, Good(1.5), guard);
  EXPECT_TRUE(guard.Diverged());
  EXPECT_FALSE(After(500, Good()).Diverged());
}

TEST(DivergenceGuardTest, ALossThatWasAboveNoMotionFromTheStartMayFall) {
  DivergenceGuard guard = After(500, Good(1.5));
  EXPECT_FALSE(guard.Diverged()) << "older weights would be no better";
  Take(100, Good(1.7), guard);
  EXPECT_TRUE(guard.Diverged()) << "but these are worse than those";
}

// A rate that is far too high: the second prediction comes from another network than the first.
TEST(DivergenceGuardTest, AStartThatIsTornApartAtOnceIsDivergence) {
  DivergenceGuard guard = After(1, Good(1));
  Take(1, Good(1e6), guard);
  Take(98, Good(1e22), guard);
  EXPECT_TRUE(guard.Diverged());
  EXPECT_FALSE(guard.Healthy());
  EXPECT_FALSE(guard.Sound());
}

TEST(DivergenceGuardTest, WhatIsWorseThanNoModelMayLearnButProvesNothingGood) {
  const DivergenceGuard guard = After(500, Good(1.5));
  EXPECT_FALSE(guard.Diverged());
  EXPECT_FALSE(guard.Healthy());
}

TEST(DivergenceGuardTest, ManyRefusalsInARowAreDivergence) {
  DivergenceGuard guard = After(19, {.finite = false});
  EXPECT_FALSE(guard.Diverged());
  static_cast<void>(guard.Next({.finite = false}));
  EXPECT_TRUE(guard.Diverged());
  EXPECT_EQ(guard.Next(Good()), SkipReason::kNone);
  EXPECT_FALSE(guard.Diverged()) << "they are no longer in a row";
}

TEST(DivergenceGuardTest, NotFiniteLossesDoNotPoisonTheWindow) {
  DivergenceGuard guard = After(100, Good());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  static_cast<void>(guard.Next({.finite = false, .loss = nan, .loss_no_motion = nan}));
  EXPECT_NEAR(guard.Ratio(), 0.8, 1e-9);
  EXPECT_FALSE(guard.Healthy()) << "one of the window had to be refused";
  Take(100, Good(), guard);
  EXPECT_TRUE(guard.Healthy());
}

// A pixel that points outside costs what no motion costs: a torn flow may look harmless by its
// loss.
TEST(DivergenceGuardTest, ARefusalNowAndThenProvesNothingGood) {
  DivergenceGuard guard({});
  for (int i = 0; i < 500; ++i) {
    static_cast<void>(guard.Next(Good(1)));
    static_cast<void>(guard.Next({.leaving_share = 0.6, .loss = 0.05, .loss_no_motion = 0.05}));
    EXPECT_FALSE(guard.Healthy());
  }
  EXPECT_TRUE(guard.Diverged()) << "half of the window";
}

TEST(DivergenceGuardTest, WeightsThatGoWrongInTheFirstWindowAreBad) {
  DivergenceGuard guard = After(30, Good());
  Take(70, Good(5), guard);
  EXPECT_TRUE(guard.Diverged());
  EXPECT_FALSE(guard.Healthy());
}

TEST(DivergenceGuardTest, TheNewestWeightsAreSoundByTheLastPredictions) {
  DivergenceGuard guard = After(100, Good());
  EXPECT_TRUE(guard.Sound());
  Take(10, Good(2), guard);
  EXPECT_FALSE(guard.Sound());
  EXPECT_FALSE(guard.Diverged()) << "not yet, over the window";
  Take(30, Good(), guard);
  EXPECT_TRUE(guard.Sound());
  static_cast<void>(guard.Next({.finite = false}));
  EXPECT_FALSE(guard.Sound());
}

// A stream that ends after a moment keeps what it has learned, unless that explodes.
TEST(DivergenceGuardTest, WhatExplodesAtOnceIsNotSound) {
  EXPECT_TRUE(After(30, Good(1.5)).Sound());
  DivergenceGuard guard = After(1, Good(1));
  Take(10, Good(1e3), guard);
  EXPECT_FALSE(guard.Sound());
}

TEST(DivergenceGuardTest, OnlyAWholeGoodWindowIsHealthy) {
  EXPECT_FALSE(After(99, Good()).Healthy());
  EXPECT_TRUE(After(100, Good()).Healthy());
  EXPECT_TRUE(After(100, Good(1.04)).Healthy()) << "as before a network sees its first motion";
  DivergenceGuard guard = After(100, Good());
  Take(100, Good(1.06), guard);
  EXPECT_FALSE(guard.Healthy());
}

TEST(DivergenceGuardTest, StartsAnewWithOtherWeights) {
  DivergenceGuard guard = After(100, Good());
  Take(100, Good(3), guard);
  ASSERT_TRUE(guard.Diverged());
  guard.Restart();
  EXPECT_FALSE(guard.Diverged());
  EXPECT_FALSE(guard.Healthy());
  Take(100, Good(3), guard);
  EXPECT_FALSE(guard.Diverged()) << "what was before is forgotten";
}

TEST(DivergenceGuardTest, NothingCanBeSaidOfStillPictures) {
  EXPECT_FALSE(After(200, {.loss = 0.01, .loss_no_motion = 0}).Diverged());
}

}  // namespace
}  // namespace millrace::pipeline
