#include "base/clock.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(FakeClockTest, StandsStillUntilTold) {
  FakeClock clock(nanoseconds(5));
  EXPECT_EQ(clock.Now(), nanoseconds(5));
  EXPECT_EQ(clock.Now(), nanoseconds(5));
  clock.Advance(nanoseconds(3));
  EXPECT_EQ(clock.Now(), nanoseconds(8));
}

TEST(FakeClockDeathTest, NeverGoesBackwards) {
  FakeClock clock;
  EXPECT_DEATH(clock.Advance(nanoseconds(-1)), "step >= nanoseconds");
}

TEST(MonotonicClockTest, NeverGoesBackwards) {
  nanoseconds last = MonotonicClock().Now();
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds now = MonotonicClock().Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(WallTimeTest, CountsFrom1970) {
  constexpr auto k2020 = std::chrono::seconds(1'577'836'800);
  EXPECT_GT(WallTime(), k2020);
}

}  // namespace
}  // namespace millrace
