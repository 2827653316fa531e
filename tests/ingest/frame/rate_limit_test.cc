#include "ingest/frame/rate_limit.h"

#include <gtest/gtest.h>

#include <random>

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// How many of `count` frames pass that come at `rate`, each up to `jitter` of its interval early or
// late.
int Passing(RateLimit& limit, double rate, int count, double jitter = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> late(-jitter, jitter);
  int passing = 0;
  for (int i = 0; i < count; ++i) {
    const double time = (i + late(random)) / rate;
    passing += limit.Passes(nanoseconds(static_cast<std::int64_t>(time * 1e9))) ? 1 : 0;
  }
  return passing;
}

TEST(RateLimitTest, KeepsTheMeanRate) {
  for (const double jitter : {0.0, 0.2}) {
    for (const double rate : {11.0, 14.0, 25.0, 100.0}) {
      RateLimit limit(10);
      EXPECT_NEAR(Passing(limit, rate, 2000, jitter), 20000 / rate, 2) << rate;
    }
  }
}

TEST(RateLimitTest, AStreamThatIsNoFasterLosesNone) {
  for (const double rate : {10.0, 9.0, 7.5, 5.0, 1.0}) {
    RateLimit limit(10);
    EXPECT_EQ(Passing(limit, rate, 500, /*jitter=*/0.2), 500) << rate;
  }
  RateLimit one_in_a_long_time(1e-300);
  EXPECT_EQ(Passing(one_in_a_long_time, 1, 500), 1);
  RateLimit none(0);
  EXPECT_EQ(Passing(none, 1000, 500), 500);
}

TEST(RateLimitTest, AFrameThatIsEarlyMayFollowOneThatIsLate) {
  RateLimit limit(10);
  for (int i = 0; i < 100; ++i) {
    const milliseconds jitter(i % 2 == 0 ? 20 : -20);
    EXPECT_TRUE(limit.Passes(milliseconds(100) * i + jitter)) << i;
  }
}

TEST(RateLimitTest, GoesOnAfterAPauseAndWhereTimeJumpsBack) {
  RateLimit limit(10);
  EXPECT_TRUE(limit.Passes(seconds(1000)));
  EXPECT_FALSE(limit.Passes(seconds(1000) + milliseconds(40)));
  EXPECT_TRUE(limit.Passes(seconds(2000)));
  EXPECT_FALSE(limit.Passes(seconds(2000) + milliseconds(40))) << "a pause is not made up for";
  EXPECT_TRUE(limit.Passes(seconds(3)));
  EXPECT_FALSE(limit.Passes(seconds(3) + milliseconds(40)));
  limit.Restart();
  EXPECT_TRUE(limit.Passes(seconds(3) + milliseconds(50)));
}

// How many of the frames pass that arrive at `rate` for `time`.
int Arriving(ArrivalLimit& limit, double rate, seconds time) {
  int passing = 0;
  const int count = static_cast<int>(rate * static_cast<double>(time.count()));
  for (int i = 0; i < count; ++i) {
    passing += limit.Passes(nanoseconds(static_cast<std::int64_t>(i * 1e9 / rate))) ? 1 : 0;
  }
  return passing;
}

TEST(ArrivalLimitTest, ManyMoreThanTheLimitAreAQuarterMoreInTheLongRun) {
  ArrivalLimit limit(2);
  EXPECT_NEAR(Arriving(limit, 1000, seconds(100)), 2.5 * 100 + 2.5 * 2, 2);
}

TEST(ArrivalLimitTest, WhatKeepsToItLosesNone) {
  for (const double rate : {0.1, 5.0, 10.0, 12.0}) {
    ArrivalLimit limit(10);
    const seconds time(1000);
    EXPECT_EQ(Arriving(limit, rate, time), static_cast<int>(rate * 1000)) << rate;
  }
  ArrivalLimit none(0);
  EXPECT_EQ(Arriving(none, 1000, seconds(1)), 1000);
}

TEST(ArrivalLimitTest, WhatTwoSecondsHeldBackMayComeAtOnce) {
  ArrivalLimit limit(10);
  int passing = 0;
  for (int i = 0; i < 100; ++i) passing += limit.Passes(seconds(7)) ? 1 : 0;
  EXPECT_GE(passing, 20);
  EXPECT_LE(passing, 30);
}

}  // namespace
}  // namespace millrace::ingest
