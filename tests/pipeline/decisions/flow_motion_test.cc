#include "pipeline/decisions/flow_motion.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(FlowMotionTest, IsTheMeanOfThePixels) {
  const std::vector<float> flow = {3, 4, 0, 0, 1, 0, 0, 0};
  const FlowMotion motion = MotionOf(flow, 2, 2, 1);
  EXPECT_DOUBLE_EQ(motion.mean_x, 1);
  EXPECT_DOUBLE_EQ(motion.mean_y, 1);
  EXPECT_DOUBLE_EQ(motion.length, 1.5);
  EXPECT_DOUBLE_EQ(motion.moving_share, 0.25) << "one pixel moves by more than 1";
  EXPECT_DOUBLE_EQ(motion.leaving_share, 0.25);
}

// Pixels of a row of three: to its ends and beyond.
TEST(FlowMotionTest, LeavesThePictureBeyondTheLastPixelsCentre) {
  const auto leaving = [](float first, float last) {
    return MotionOf(std::vector<float>{first, 0, 0, 0, last, 0}, 3, 1, 0).leaving_share;
  };
  EXPECT_EQ(leaving(2, -2), 0);
  EXPECT_NEAR(leaving(2.01F, -2), 1 / 3.0, 1e-9);
  EXPECT_NEAR(leaving(-0.01F, 0.01F), 2 / 3.0, 1e-9);
}

TEST(FlowMotionTest, OfWhatIsNotFiniteIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const FlowMotion motion = MotionOf(std::vector<float>{nan, 0}, 1, 1, 0);
  EXPECT_FALSE(std::isfinite(motion.length));
  EXPECT_EQ(motion.leaving_share, 1);
}

}  // namespace
}  // namespace millrace::pipeline
