#include "service/frames/flow_colors.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// The Middlebury code as its authors wrote it: whole numbers, one arc after the other.
class SlowWheel {
 public:
  SlowWheel() {
    for (int i = 0; i < 15; ++i) Set(255, 255 * i / 15, 0);
    for (int i = 0; i < 6; ++i) Set(255 - 255 * i / 6, 255, 0);
    for (int i = 0; i < 4; ++i) Set(0, 255, 255 * i / 4);
    for (int i = 0; i < 11; ++i) Set(0, 255 - 255 * i / 11, 255);
    for (int i = 0; i < 13; ++i) Set(255 * i / 13, 0, 255);
    for (int i = 0; i < 6; ++i) Set(255, 0, 255 - 255 * i / 6);
  }

  [[nodiscard]] std::array<int, 3> Color(float fx, float fy) const {
    const float rad = std::sqrt(fx * fx + fy * fy);
    const float a = std::atan2(-fy, -fx) / static_cast<float>(M_PI);
    const float fk = (a + 1.0F) / 2.0F * 54;
    const int k0 = static_cast<int>(fk);
    const int k1 = (k0 + 1) % 55;
    const float f = fk - static_cast<float>(k0);
    std::array<int, 3> pixel = {};
    for (std::size_t b = 0; b < 3; ++b) {
      const float col0 = static_cast<float>(wheel_[static_cast<std::size_t>(k0)][b]) / 255.0F;
      const float col1 = static_cast<float>(wheel_[static_cast<std::size_t>(k1)][b]) / 255.0F;
      float col = (1 - f) * col0 + f * col1;
      col = rad <= 1 ? 1 - rad * (1 - col) : col * 0.75F;
      pixel[b] = static_cast<int>(255.0F * col);
    }
    return pixel;
  }

 private:
  void Set(int red, int green, int blue) { wheel_.push_back({red, green, blue}); }

  std::vector<std::array<int, 3>> wheel_;
};

TEST(FlowColorsTest, AgreesWithTheMiddleburyCode) {
  const SlowWheel slow;
  for (int degrees = 0; degrees < 360; degrees += 3) {
    for (float length : {0.0F, 0.1F, 0.5F, 0.99F, 1.5F}) {
      const float dx = length * std::cos(static_cast<float>(degrees) * 0.0174533F);
      const float dy = length * std::sin(static_cast<float>(degrees) * 0.0174533F);
      const Rgb color = FlowColor(dx, dy);
      const std::array<int, 3> expected = slow.Color(dx, dy);
      // Its wheel is rounded to whole numbers, ours is not.
      EXPECT_NEAR(color.red, expected[0], 2) << degrees << " degrees, " << length;
      EXPECT_NEAR(color.green, expected[1], 2) << degrees << " degrees, " << length;
      EXPECT_NEAR(color.blue, expected[2], 2) << degrees << " degrees, " << length;
    }
  }
}

TEST(FlowColorsTest, NoMotionIsWhiteAndMotionToTheRightIsRed) {
  EXPECT_EQ(FlowColor(0, 0), (Rgb{255, 255, 255}));
  EXPECT_EQ(FlowColor(1, 0), (Rgb{255, 0, 0}));
}

TEST(FlowColorsTest, WhatIsNotFiniteIsBlack) {
  EXPECT_EQ(FlowColor(std::numeric_limits<float>::quiet_NaN(), 0), (Rgb{0, 0, 0}));
  EXPECT_EQ(FlowColor(0, std::numeric_limits<float>::infinity()), (Rgb{0, 0, 0}));
}

TEST(FlowColorsTest, MeasuresMotionInUnitsOfTheScale) {
  const std::vector<float> flow = {4, 0, 0, 0};
  EXPECT_THAT(FlowColors(flow, /*scale=*/4), ElementsAre(255, 0, 0, 255, 255, 255));
}

TEST(FlowColorsTest, TheWheelIsWhiteInTheMiddleAndRedAtItsRight) {
  const std::vector<std::uint8_t> wheel = FlowWheel(/*size=*/5);
  ASSERT_THAT(wheel, SizeIs(5 * 5 * 3));
  const auto at = [&](std::size_t x, std::size_t y) {
    return Rgb{wheel[(y * 5 + x) * 3], wheel[(y * 5 + x) * 3 + 1], wheel[(y * 5 + x) * 3 + 2]};
  };
  EXPECT_EQ(at(2, 2), (Rgb{255, 255, 255}));
  EXPECT_EQ(at(4, 2), (Rgb{255, 0, 0}));
}

TEST(FlowScaleTest, RoundsUpToOneTwoThreeOrFive) {
  EXPECT_FLOAT_EQ(RoundScale(0), 0.5F);
  EXPECT_FLOAT_EQ(RoundScale(0.6F), 1);
  EXPECT_FLOAT_EQ(RoundScale(1.2F), 2);
  EXPECT_FLOAT_EQ(RoundScale(2.1F), 3);
  EXPECT_FLOAT_EQ(RoundScale(3.1F), 5);
  EXPECT_FLOAT_EQ(RoundScale(7), 10);
  EXPECT_FLOAT_EQ(RoundScale(130), 200);
}

TEST(FlowScaleTest, RisesAtOnceAndFallsSlowly) {
  FlowScale scale;
  const std::vector<float> fast = {8, 0};
  const std::vector<float> slow = {1, 0};
  EXPECT_FLOAT_EQ(scale.Next(fast), 10);
  EXPECT_FLOAT_EQ(scale.Next(slow), 10);
  float last = 10;
  for (int i = 0; i < 500; ++i) {
    const float next = scale.Next(slow);
    EXPECT_LE(next, last);
    last = next;
  }
  EXPECT_FLOAT_EQ(last, 1);
}

TEST(FlowScaleTest, IgnoresWhatIsNotFinite) {
  FlowScale scale;
  EXPECT_FLOAT_EQ(scale.Next(std::vector<float>{std::numeric_limits<float>::infinity(), 0, 1, 0}),
                  1);
}

}  // namespace
}  // namespace millrace::service
