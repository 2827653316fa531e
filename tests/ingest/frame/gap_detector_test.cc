#include "ingest/frame/gap_detector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Which of `times` (in milliseconds) come after a gap.
std::vector<int> Gaps(const std::vector<int>& times) {
  GapDetector detector;
  std::vector<int> gaps;
  for (const int time : times) {
    if (detector.IsGap(milliseconds(time))) gaps.push_back(time);
  }
  return gaps;
}

TEST(GapDetectorTest, FindsNoneInASteadyStream) {
  EXPECT_EQ(Gaps({0, 100, 200, 300, 400, 500, 600}), std::vector<int>{});
}

TEST(GapDetectorTest, FindsMissingFrames) {
  EXPECT_EQ(Gaps({0, 100, 200, 300, 600, 700, 800}), std::vector<int>{600});
}

TEST(GapDetectorTest, DrawsTheLineAtTwoAndAHalfSteps) {
  EXPECT_EQ(Gaps({0, 100, 200, 300, 550, 650}), std::vector<int>{});
  EXPECT_EQ(Gaps({0, 100, 200, 300, 551, 651}), std::vector<int>{551});
}

TEST(GapDetectorTest, FindsTimeThatStandsStillOrRunsBackwards) {
  EXPECT_EQ(Gaps({0, 100, 100, 200}), (std::vector<int>{100}));
  EXPECT_EQ(Gaps({500, 600, 400, 500, 600}), (std::vector<int>{400}));
}

TEST(GapDetectorTest, DoesNotJudgeBeforeItKnowsTheTempo) {
  EXPECT_EQ(Gaps({0, 100, 1000, 1100}), std::vector<int>{});
}

TEST(GapDetectorTest, ASlowerCameraBecomesNormal) {
  std::vector<int> times = {0};
  for (int i = 0; i < 9; ++i) times.push_back(times.back() + 40);
  for (int i = 0; i < 20; ++i) times.push_back(times.back() + 1000);
  EXPECT_EQ(Gaps(times).size(), 5u);
}

TEST(GapDetectorTest, JitterOfHalfAFrameIsNoGap) {
  std::mt19937 random(3);
  GapDetector detector;
  for (int i = 0; i < 10'000; ++i) {
    const auto jitter = static_cast<std::int64_t>(random() % 20'000'000) - 10'000'000;
    EXPECT_FALSE(detector.IsGap(milliseconds(40) * i + nanoseconds(jitter))) << i;
  }
}

TEST(GapDetectorTest, RestartForgets) {
  GapDetector detector;
  for (int i = 0; i < 5; ++i) static_cast<void>(detector.IsGap(milliseconds(100 * i)));
  EXPECT_EQ(detector.TypicalStep(), milliseconds(100));
  detector.Restart();
  EXPECT_EQ(detector.TypicalStep(), std::nullopt);
  EXPECT_FALSE(detector.IsGap(milliseconds(0)));
  EXPECT_FALSE(detector.IsGap(milliseconds(5000)));
}

}  // namespace
}  // namespace millrace::ingest
