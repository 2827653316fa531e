#include "ingest/frame/pacer.h"

#include <gtest/gtest.h>

namespace millrace::ingest {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kStart = hours(1);

TEST(PacerTest, FollowsTheFilesTimestamps) {
  Pacer pacer;
  EXPECT_EQ(pacer.Due(milliseconds(40), std::nullopt, kStart), kStart);
  EXPECT_EQ(pacer.Due(milliseconds(140), std::nullopt, kStart), kStart + milliseconds(100));
  EXPECT_EQ(pacer.Due(milliseconds(170), std::nullopt, kStart), kStart + milliseconds(130));
}

TEST(PacerTest, DoesNotDriftWhenEveryFrameIsShownLate) {
  Pacer pacer;
  nanoseconds now = kStart;
  nanoseconds due = now;
  for (int i = 0; i <= 1000; ++i) {
    due = pacer.Due(milliseconds(100 * i), milliseconds(100), now);
    now = std::max(now, due) + milliseconds(7);
  }
  EXPECT_EQ(due, kStart + seconds(100));
}

TEST(PacerTest, KeepsTimeOverTheEndOfARound) {
  Pacer pacer;
  nanoseconds due = kStart;
  for (int round = 0; round < 100; ++round) {
    pacer.BeginRound();
    for (int i = 0; i < 10; ++i) due = pacer.Due(milliseconds(100 * i), milliseconds(100), due);
  }
  EXPECT_EQ(due, kStart + milliseconds(100) * 999);
}

TEST(PacerTest, TakesTheLastStepWhereFramesHaveNoDuration) {
  Pacer pacer;
  static_cast<void>(pacer.Due(milliseconds(0), std::nullopt, kStart));
  static_cast<void>(pacer.Due(milliseconds(50), std::nullopt, kStart));
  pacer.BeginRound();
  EXPECT_EQ(pacer.Due(milliseconds(0), std::nullopt, kStart), kStart + milliseconds(100));
}

TEST(PacerTest, CatchesUpAShortDelay) {
  Pacer pacer;
  static_cast<void>(pacer.Due(milliseconds(0), milliseconds(100), kStart));
  EXPECT_EQ(pacer.Due(milliseconds(100), milliseconds(100), kStart + milliseconds(900)),
            kStart + milliseconds(100));
}

TEST(PacerTest, GoesOnFromNowAfterALongDelay) {
  Pacer pacer;
  static_cast<void>(pacer.Due(milliseconds(0), milliseconds(100), kStart));
  const nanoseconds late = kStart + hours(1);
  EXPECT_EQ(pacer.Due(milliseconds(100), milliseconds(100), late), late);
  EXPECT_EQ(pacer.Due(milliseconds(200), milliseconds(100), late), late + milliseconds(100));
}

}  // namespace
}  // namespace millrace::ingest
