#include "pipeline/decisions/divergence_detector.h"

#include <limits>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

PredictionHealth Good(double ratio = 0.8) { return {.loss = 0.05 * ratio, .loss_no_motion = 0.05}; }

// A detector whose predictions are numbered.
class NumberedDetector {
 public:
  NumberedDetector() = default;
  NumberedDetector(int predictions, const PredictionHealth& health) { Add(predictions, health); }

  SkipReason Add(PredictionHealth health) {
    health.sample = ++sample_;
    return detector_.Add(health);
  }
  void Add(int predictions, const PredictionHealth& health) {
    for (int i = 0; i < predictions; ++i) Add(health);
  }
  /// Whether the last prediction proves the weights good, from before the window.
  [[nodiscard]] bool proves_good() const {
    return detector_.proven() == sample_ - DivergenceOptions().window;
  }
  DivergenceDetector* operator->() { return &detector_; }

 private:
  DivergenceDetector detector_{{}};
  std::int64_t sample_ = 1000;
};

TEST(DivergenceDetectorTest, LetsGoodPredictionsTeach) {
  NumberedDetector detector;
  EXPECT_EQ(detector.Add(Good()), SkipReason::kNone);
  EXPECT_FALSE(detector->diverged());
}

TEST(DivergenceDetectorTest, RefusesWhatIsNotFiniteOrPointsAway) {
  NumberedDetector detector;
  EXPECT_EQ(detector.Add({.finite = false}), SkipReason::kNonFinite);
  EXPECT_EQ(detector.Add({.leaving_share = 0.6, .loss = 1, .loss_no_motion = 1}),
            SkipReason::kLeavesPicture);
  EXPECT_EQ(detector.Add({.motion = 0.7, .loss = 1, .loss_no_motion = 1}), SkipReason::kTooFast);
}

TEST(DivergenceDetectorTest, ALossThatRisesAboveNoMotionOverAWindowIsDivergence) {
  NumberedDetector detector(100, Good());
  detector.Add(30, Good(1.5));
  EXPECT_FALSE(detector->diverged()) << "over the window it is still low";
  detector.Add(70, Good(1.5));
  EXPECT_TRUE(detector->diverged());
  EXPECT_FALSE(NumberedDetector(500, Good())->diverged());
}

TEST(DivergenceDetectorTest, ALossThatWasAboveNoMotionFromTheStartMayFall) {
  NumberedDetector detector(500, Good(1.5));
  EXPECT_FALSE(detector->diverged()) << "older weights would be no better";
  detector.Add(100, Good(1.7));
  EXPECT_TRUE(detector->diverged()) << "but these are worse than those";
}

// A rate that is far too high: the second prediction comes from another network than the first.
TEST(DivergenceDetectorTest, AStartThatIsTornApartAtOnceIsDivergence) {
  NumberedDetector detector(1, Good(1));
  detector.Add(1, Good(1e6));
  detector.Add(98, Good(1e22));
  EXPECT_TRUE(detector->diverged());
  EXPECT_FALSE(detector.proves_good());
  EXPECT_FALSE(detector->sound());
}

TEST(DivergenceDetectorTest, WhatIsWorseThanNoModelMayLearnButProvesNothingGood) {
  NumberedDetector detector(500, Good(1.5));
  EXPECT_FALSE(detector->diverged());
  EXPECT_FALSE(detector.proves_good());
}

TEST(DivergenceDetectorTest, ManyRefusalsInARowAreDivergence) {
  NumberedDetector detector(19, {.finite = false});
  EXPECT_FALSE(detector->diverged());
  detector.Add({.finite = false});
  EXPECT_TRUE(detector->diverged());
  EXPECT_EQ(detector.Add(Good()), SkipReason::kNone);
  EXPECT_FALSE(detector->diverged()) << "they are no longer in a row";
}

TEST(DivergenceDetectorTest, NotFiniteLossesDoNotPoisonTheWindow) {
  NumberedDetector detector(100, Good());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  detector.Add({.finite = false, .loss = nan, .loss_no_motion = nan});
  EXPECT_NEAR(detector->ratio(), 0.8, 1e-9);
  EXPECT_FALSE(detector.proves_good()) << "one of the window had to be refused";
  detector.Add(100, Good());
  EXPECT_TRUE(detector.proves_good());
}

// A pixel that points outside costs what no motion costs: a torn flow may look harmless by its
// loss.
TEST(DivergenceDetectorTest, ARefusalNowAndThenProvesNothingGood) {
  NumberedDetector detector;
  for (int i = 0; i < 500; ++i) {
    detector.Add(Good(1));
    detector.Add({.leaving_share = 0.6, .loss = 0.05, .loss_no_motion = 0.05});
    EXPECT_FALSE(detector.proves_good());
  }
  EXPECT_TRUE(detector->diverged()) << "half of the window";
}

TEST(DivergenceDetectorTest, WeightsThatGoWrongInTheFirstWindowAreBad) {
  NumberedDetector detector(30, Good());
  detector.Add(70, Good(5));
  EXPECT_TRUE(detector->diverged());
  EXPECT_FALSE(detector.proves_good());
}

TEST(DivergenceDetectorTest, TheNewestWeightsAreSoundByTheLastPredictions) {
  NumberedDetector detector(100, Good());
  EXPECT_TRUE(detector->sound());
  detector.Add(10, Good(2));
  EXPECT_FALSE(detector->sound());
  EXPECT_FALSE(detector->diverged()) << "not yet, over the window";
  detector.Add(30, Good());
  EXPECT_TRUE(detector->sound());
  detector.Add({.finite = false});
  EXPECT_FALSE(detector->sound());
}

// A stream that ends after a moment keeps what it has learned, unless that explodes.
TEST(DivergenceDetectorTest, WhatExplodesAtOnceIsNotSound) {
  EXPECT_TRUE(NumberedDetector(30, Good(1.5))->sound());
  NumberedDetector detector(1, Good(1));
  detector.Add(10, Good(1e3));
  EXPECT_FALSE(detector->sound());
}

TEST(DivergenceDetectorTest, OnlyAWholeGoodWindowIsHealthy) {
  EXPECT_FALSE(NumberedDetector(99, Good()).proves_good());
  EXPECT_TRUE(NumberedDetector(100, Good()).proves_good());
  EXPECT_TRUE(NumberedDetector(100, Good(1.04)).proves_good())
      << "as before a network sees its first motion";
  NumberedDetector detector(100, Good());
  detector.Add(100, Good(1.06));
  EXPECT_FALSE(detector.proves_good());
}

TEST(DivergenceDetectorTest, StartsAnewWithOtherWeights) {
  NumberedDetector detector(100, Good());
  detector.Add(100, Good(3));
  ASSERT_TRUE(detector->diverged());
  detector->Restart();
  EXPECT_FALSE(detector->diverged());
  EXPECT_FALSE(detector.proves_good());
  detector.Add(100, Good(3));
  EXPECT_FALSE(detector->diverged()) << "what was before is forgotten";
}

TEST(DivergenceDetectorTest, NothingCanBeSaidOfStillPictures) {
  EXPECT_FALSE(NumberedDetector(200, {.loss = 0.01, .loss_no_motion = 0})->diverged());
}

}  // namespace
}  // namespace millrace::pipeline
