#include "pipeline/device/core_speed.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(CoreSpeedTest, TheFastestCoreIsTheMeasure) {
  FastestCore fastest;
  EXPECT_EQ(fastest.SlownessOf(2), 1);
  EXPECT_EQ(fastest.SlownessOf(3), 1.5);
  EXPECT_EQ(fastest.SlownessOf(1), 1);
  EXPECT_EQ(fastest.SlownessOf(3), 3);
}

TEST(CoreSpeedTest, WhatWasNotMeasuredIsNoMeasure) {
  FastestCore fastest;
  EXPECT_EQ(fastest.SlownessOf(0), 1);
  EXPECT_EQ(fastest.SlownessOf(2), 1);
}

TEST(CoreSpeedTest, TheYardstickTakesTimeAndLeavesTheThreadsAsTheyWere) {
  const int before = at::get_num_threads();
  EXPECT_GT(Yardstick().RunMs(), 0);
  EXPECT_EQ(at::get_num_threads(), before);
}

}  // namespace
}  // namespace millrace::pipeline
