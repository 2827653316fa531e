#include "pipeline/learner/picture_to_come.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 9;
constexpr int kHeight = 7;
constexpr std::size_t kPixels = kWidth * kHeight;

std::vector<std::uint8_t> RandomPicture() {
  std::mt19937 random(7);
  std::vector<std::uint8_t> rgb(3 * kPixels);
  for (std::uint8_t& byte : rgb) byte = static_cast<std::uint8_t>(random());
  return rgb;
}

std::vector<float> Flow(float dx, float dy) {
  std::vector<float> flow;
  for (std::size_t i = 0; i < kPixels; ++i) flow.insert(flow.end(), {dx, dy});
  return flow;
}

TEST(PictureToComeTest, WhatMovesByWholePixelsArrivesThereAndTheBorderFollows) {
  const std::vector<std::uint8_t> rgb = RandomPicture();
  const std::vector<std::uint8_t> made = PictureToCome(rgb, Flow(2, -1), kWidth, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int from_x = std::max(x - 2, 0);
      const int from_y = std::min(y + 1, kHeight - 1);
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(made[(y * kWidth + x) * 3 + c], rgb[(from_y * kWidth + from_x) * 3 + c]);
      }
    }
  }
}

TEST(PictureToComeTest, HalfAPixelIsTheMeanOfTwo) {
  const std::vector<std::uint8_t> rgb = RandomPicture();
  const std::vector<std::uint8_t> made = PictureToCome(rgb, Flow(0.5, 0), kWidth, kHeight);
  EXPECT_EQ(made[3], std::lround((rgb[0] + rgb[3]) / 2.0));
}

TEST(PictureToComeTest, FlowThatIsNotFiniteMovesNothingAndFlowFarOutsideShowsTheBorder) {
  const std::vector<std::uint8_t> rgb = RandomPicture();
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(PictureToCome(rgb, Flow(value, 1), kWidth, kHeight), rgb);
  }
  const std::vector<std::uint8_t> made = PictureToCome(rgb, Flow(1e30F, 1e30F), kWidth, kHeight);
  EXPECT_EQ(made.back(), rgb[2]);
}

}  // namespace
}  // namespace millrace::pipeline
