#include "pipeline/decisions/score_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Score At(milliseconds time, double loss, double no_motion = 1) {
  return {.stream_time = time, .loss = loss, .loss_no_motion = no_motion};
}

TEST(ScoreWindowsTest, GoByTheStreamsOwnTime) {
  ScoreWindows windows(seconds(10));
  EXPECT_FALSE(windows.Add(At(seconds(100), 0.5)));
  EXPECT_FALSE(windows.Add(At(milliseconds(109999), 0.7)));
  const auto first = windows.Add(At(seconds(110), 0.9));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->start, seconds(100));
  EXPECT_EQ(first->summary.predictions, 2);
  EXPECT_DOUBLE_EQ(first->summary.loss, 0.6);
  // 15 s later: a window without scores lies between.
  const auto second = windows.Add(At(seconds(137), 0.1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->start, seconds(110));
  ASSERT_TRUE(windows.Open());
  EXPECT_EQ(windows.Open()->start, seconds(130));
  EXPECT_EQ(windows.whole().predictions, 4);
  EXPECT_DOUBLE_EQ(windows.whole().loss, 0.55);
}

TEST(ScoreWindowsTest, SaysHowLossesAreSpread) {
  std::mt19937_64 random(1);
  ScoreWindows windows(seconds(1000));
  std::vector<double> losses;
  for (int i = 0; i < 101; ++i) losses.push_back(i);
  std::shuffle(losses.begin(), losses.end(), random);
  for (double loss : losses) static_cast<void>(windows.Add(At(seconds(1), loss)));
  const ScoreSummary summary = windows.Open()->summary;
  EXPECT_DOUBLE_EQ(summary.loss, 50);
  EXPECT_NEAR(summary.loss_deviation, std::sqrt((101.0 * 101 - 1) / 12), 1e-9);
  EXPECT_DOUBLE_EQ(summary.loss_p10, 10);
  EXPECT_DOUBLE_EQ(summary.loss_p90, 90);
}

TEST(ScoreWindowsTest, ComparesWithNoMotionAndAReference) {
  ScoreWindows windows(seconds(10));
  Score score = At(seconds(0), 0.6);
  EXPECT_FALSE(ScoreSummary().gain());
  score.loss_reference = 0.2;
  static_cast<void>(windows.Add(score));
  EXPECT_DOUBLE_EQ(windows.whole().ratio(), 0.6);
  ASSERT_TRUE(windows.whole().gain());
  EXPECT_DOUBLE_EQ(*windows.whole().gain(), 0.5);
}

TEST(ScoreWindowsTest, CountsWhatWasLearnedFrom) {
  ScoreWindows windows(seconds(10));
  for (int i = 0; i < 5; ++i) {
    Score score = At(seconds(0), 1);
    score.learned_from = i % 2 == 0;
    static_cast<void>(windows.Add(score));
  }
  EXPECT_EQ(windows.whole().predictions, 5);
  EXPECT_EQ(windows.whole().learned_from, 3);
}

TEST(ScoreWindowsTest, WhatIsNotFiniteOnlyCounts) {
  ScoreWindows windows(seconds(10));
  static_cast<void>(windows.Add(At(seconds(0), std::numeric_limits<double>::quiet_NaN())));
  static_cast<void>(windows.Add(At(seconds(0), 0.5)));
  EXPECT_EQ(windows.whole().predictions, 2);
  EXPECT_DOUBLE_EQ(windows.whole().loss, 0.5);
}

}  // namespace
}  // namespace millrace::pipeline
