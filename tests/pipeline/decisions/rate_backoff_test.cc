#include "pipeline/decisions/rate_backoff.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr std::int64_t kLong = RateBackoff::kRecoverAfter;

// The share after as many samples that were learned from.
double Learn(RateBackoff& rate, std::int64_t samples) {
  double scale = 0;
  for (std::int64_t i = 0; i < samples; ++i) scale = rate.OnLearned();
  return scale;
}

TEST(RateBackoffTest, IsWholeWhileNothingGoesWrong) {
  RateBackoff rate;
  EXPECT_EQ(Learn(rate, 10 * kLong), 1);
}

TEST(RateBackoffTest, EachRollBackHalvesIt) {
  RateBackoff rate;
  EXPECT_EQ(rate.OnRollBack(), 0.5);
  EXPECT_EQ(rate.OnRollBack(), 0.25);
  for (int i = 0; i < 18; ++i) rate.OnRollBack();
  EXPECT_EQ(rate.scale(), std::ldexp(1, -20));
}

TEST(RateBackoffTest, TwelveRollBacksInARowAreEnough) {
  RateBackoff rate;
  for (int i = 0; i < 11; ++i) {
    rate.OnRollBack();
    Learn(rate, kLong - 1);
  }
  EXPECT_FALSE(rate.exhausted());
  rate.OnRollBack();
  EXPECT_TRUE(rate.exhausted());
  Learn(rate, kLong);
  EXPECT_FALSE(rate.exhausted()) << "a long time without one ends the row";
}

TEST(RateBackoffTest, TriesAgainWithTheWholeOrWithWhatIsLeft) {
  RateBackoff rate;
  for (int i = 0; i < 12; ++i) rate.OnRollBack();
  EXPECT_EQ(rate.Restart(/*whole=*/false), std::ldexp(1, -12));
  EXPECT_FALSE(rate.exhausted());
  rate.OnRollBack();
  EXPECT_FALSE(rate.exhausted()) << "they are counted anew";
  EXPECT_EQ(rate.Restart(/*whole=*/true), 1);
}

TEST(RateBackoffTest, DoublesAfterEachLongTimeWithoutOneUpToTheWhole) {
  RateBackoff rate;
  rate.OnRollBack();
  rate.OnRollBack();
  EXPECT_EQ(Learn(rate, kLong - 1), 0.25);
  EXPECT_EQ(Learn(rate, 1), 0.5);
  EXPECT_EQ(Learn(rate, kLong - 1), 0.5);
  EXPECT_EQ(Learn(rate, 1), 1);
  EXPECT_EQ(Learn(rate, 10 * kLong), 1);
}

TEST(RateBackoffTest, GoesOnFromTheShareItIsGiven) {
  RateBackoff rate(/*scale=*/0.25);
  EXPECT_EQ(Learn(rate, kLong - 1), 0.25);
  EXPECT_EQ(Learn(rate, 1), 0.5);
}

TEST(RateBackoffTest, ARollBackBeginsTheLongTimeAnew) {
  RateBackoff rate;
  rate.OnRollBack();
  Learn(rate, kLong - 1);
  EXPECT_EQ(rate.OnRollBack(), 0.25);
  EXPECT_EQ(Learn(rate, kLong - 1), 0.25);
  EXPECT_EQ(Learn(rate, 1), 0.5);
}

}  // namespace
}  // namespace millrace::pipeline
