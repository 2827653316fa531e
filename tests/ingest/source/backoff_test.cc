#include "ingest/source/backoff.h"

#include <gtest/gtest.h>

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr BackoffOptions kNoJitter = {.jitter = 0};

TEST(BackoffTest, DoublesUpToItsLimit) {
  Backoff backoff(kNoJitter, /*seed=*/1);
  for (const int expected : {200, 400, 800, 1600, 2000, 2000}) {
    EXPECT_EQ(backoff.Next(), milliseconds(expected));
  }
}

TEST(BackoffTest, StartsAgainAfterAReset) {
  Backoff backoff(kNoJitter, /*seed=*/1);
  for (int i = 0; i < 5; ++i) static_cast<void>(backoff.Next());
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), milliseconds(200));
}

TEST(BackoffTest, SpreadsWaitsWithinTheJitter) {
  Backoff backoff({.first = milliseconds(100), .longest = milliseconds(100), .jitter = 0.2}, 42);
  nanoseconds shortest = nanoseconds::max();
  nanoseconds longest = nanoseconds::min();
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds wait = backoff.Next();
    shortest = std::min(shortest, wait);
    longest = std::max(longest, wait);
  }
  EXPECT_GE(shortest, milliseconds(80));
  EXPECT_LT(shortest, milliseconds(85));
  EXPECT_LE(longest, milliseconds(120));
  EXPECT_GT(longest, milliseconds(115));
}

TEST(BackoffTest, EqualSeedsGiveEqualWaits) {
  Backoff a({}, 7);
  Backoff b({}, 7);
  Backoff c({}, 8);
  const nanoseconds wait = a.Next();
  EXPECT_EQ(wait, b.Next());
  EXPECT_NE(wait, c.Next());
}

TEST(BackoffDeathTest, RefusesSenselessOptions) {
  EXPECT_DEATH(Backoff({.first = nanoseconds(0)}, 1), "first");
  EXPECT_DEATH(Backoff({.jitter = 1}, 1), "jitter");
}

}  // namespace
}  // namespace millrace::ingest
