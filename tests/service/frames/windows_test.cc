#include "service/frames/windows.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Frames 1 to `count`, one every 100 ms from 0 on.
RateWindow TenASecond(int count) {
  RateWindow window;
  for (int i = 0; i < count; ++i) {
    window.Record(milliseconds(100) * i, static_cast<std::uint64_t>(i) + 1);
  }
  return window;
}

TEST(RateWindowTest, IsZeroBeforeTheSecondReading) {
  RateWindow window;
  EXPECT_EQ(window.PerSecond(seconds(1), 0), 0);
  window.Record(seconds(1), 1);
  EXPECT_EQ(window.PerSecond(seconds(1), 1), 0);
}

TEST(RateWindowTest, IsExactForASteadyCounterHoweverFewReadings) {
  EXPECT_DOUBLE_EQ(TenASecond(2).PerSecond(milliseconds(150), 2), 10);
  EXPECT_DOUBLE_EQ(TenASecond(300).PerSecond(milliseconds(29'950), 300), 10);
}

TEST(RateWindowTest, CountsWhatCameBetweenReadings) {
  RateWindow window;
  window.Record(seconds(0), 1);
  window.Record(seconds(1), 26);  // 24 counts were not recorded on their own.
  EXPECT_DOUBLE_EQ(window.PerSecond(seconds(1), 26), 25);
  EXPECT_DOUBLE_EQ(window.PerSecond(seconds(2), 51), 25);
}

TEST(RateWindowTest, FallsToZeroWhenTheCounterStandsStill) {
  const RateWindow window = TenASecond(101);  // Until 10 s.
  EXPECT_NEAR(window.PerSecond(seconds(10), 101), 10, 1e-9);
  EXPECT_NEAR(window.PerSecond(milliseconds(14'950), 101), 5, 0.1);
  EXPECT_EQ(window.PerSecond(milliseconds(20'050), 101), 0);
}

TEST(RateWindowTest, LooksBackTenSecondsOnly) {
  RateWindow window;
  for (int i = 0; i <= 100; ++i) window.Record(milliseconds(10) * i, static_cast<unsigned>(i));
  for (int i = 1; i <= 30; ++i) {
    window.Record(seconds(1) + milliseconds(500) * i, 100U + static_cast<unsigned>(i));
  }
  EXPECT_NEAR(window.PerSecond(seconds(16), 130), 2, 1e-9);
}

TEST(RateWindowTest, StaysBoundedAndRightUnderAStorm) {
  RateWindow window;
  for (unsigned i = 0; i < 100'000; ++i) window.Record(std::chrono::microseconds(i), i);
  EXPECT_NEAR(window.PerSecond(std::chrono::microseconds(99'999), 99'999), 1e6, 1);
}

TEST(DelayWindowTest, QuantilesAreDelaysThatHappened) {
  DelayWindow window;
  EXPECT_EQ(window.Quantile(0.5, seconds(0)), 0);
  for (int i = 100; i >= 1; --i) window.Record(seconds(1), milliseconds(i));
  EXPECT_DOUBLE_EQ(window.Quantile(0.5, seconds(2)), 0.050);
  EXPECT_DOUBLE_EQ(window.Quantile(0.99, seconds(2)), 0.099);
  EXPECT_DOUBLE_EQ(window.Quantile(1, seconds(2)), 0.100);
}

TEST(DelayWindowTest, ForgetsAfterTenSeconds) {
  DelayWindow window;
  window.Record(seconds(0), milliseconds(900));
  window.Record(seconds(5), milliseconds(100));
  EXPECT_DOUBLE_EQ(window.Quantile(1, seconds(10)), 0.9);
  EXPECT_DOUBLE_EQ(window.Quantile(1, seconds(11)), 0.1);
  EXPECT_DOUBLE_EQ(window.Quantile(1, seconds(16)), 0);
}

TEST(MeanWindowTest, CoversTheLastTwoHundredValues) {
  MeanWindow window;
  EXPECT_EQ(window.mean(), 0);
  for (int i = 0; i < 500; ++i) window.Record(1000);
  for (int i = 1; i <= 200; ++i) window.Record(i);
  EXPECT_DOUBLE_EQ(window.mean(), 100.5);
}

}  // namespace
}  // namespace millrace::service
