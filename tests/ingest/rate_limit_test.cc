#include "ingest/rate_limit.h"

#include <gtest/gtest.h>

#include <random>

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// How many of `count` frames pass that come at `rate`, each up to `jitter` of its interval late.
int Passing(RateLimit& limit, double rate, int count, double jitter = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> late(0, jitter);
  int passing = 0;
  for (int i = 0; i < count; ++i) {
    const double time = (i + late(random)) / rate;
    passing += limit.Passes(nanoseconds(static_cast<std::int64_t>(time * 1e9))) ? 1 : 0;
  }
  return passing;
}

TEST(RateLimitTest, KeepsTheMeanRate) {
  RateLimit limit(10);
  EXPECT_NEAR(Passing(limit, 25, 1000), 400, 2);
}

TEST(RateLimitTest, AStreamThatIsNoFasterLosesNone) {
  for (const double rate : {10.0, 9.0, 1.0}) {
    RateLimit limit(10);
    EXPECT_EQ(Passing(limit, rate, 500, /*jitter=*/0.15), 500) << rate;
  }
  RateLimit one_in_a_long_time(1e-300);
  EXPECT_EQ(Passing(one_in_a_long_time, 1, 500), 1);
  RateLimit none(0);
  EXPECT_EQ(Passing(none, 1000, 500), 500);
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

}  // namespace
}  // namespace millrace::ingest
