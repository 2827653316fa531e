#include "pipeline/learner/flow_uncertainty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 48;
constexpr int kHeight = 32;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

std::vector<std::uint8_t> Grey(const std::vector<double>& light) {
  std::vector<std::uint8_t> rgb;
  for (const double value : light) {
    const auto byte = static_cast<std::uint8_t>(std::lround(value));
    rgb.insert(rgb.end(), {byte, byte, byte});
  }
  return rgb;
}

/// Waves in all directions, moved by (dx, dy).
std::vector<std::uint8_t> Waves(double dx, double dy) {
  std::vector<double> light;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      light.push_back(128 + 50 * std::sin((x - dx) / 2) + 50 * std::sin((y - dy) / 2));
    }
  }
  return Grey(light);
}

std::vector<float> Flow(float dx, float dy) {
  std::vector<float> flow;
  for (std::size_t i = 0; i < kPixels; ++i) flow.insert(flow.end(), {dx, dy});
  return flow;
}

std::vector<float> Uncertainty(const std::vector<float>& flow,
                               const std::vector<std::uint8_t>& base,
                               const std::vector<std::uint8_t>& target, bool backward = false) {
  return FlowUncertainty({.flow = flow,
                          .base = base,
                          .target = target,
                          .width = kWidth,
                          .height = kHeight,
                          .backward = backward});
}

/// The mean far from the borders, across which pictures show something new.
double MeanInside(const std::vector<float>& values) {
  double sum = 0;
  int count = 0;
  for (int y = 8; y < kHeight - 8; ++y) {
    for (int x = 8; x < kWidth - 8; ++x, ++count) sum += values[y * kWidth + x];
  }
  return sum / count;
}

TEST(FlowUncertaintyTest, TheTrueMotionIsNearlyCertain) {
  EXPECT_LT(MeanInside(Uncertainty(Flow(1, -1), Waves(0, 0), Waves(1, -1))), 0.02);
  EXPECT_LT(MeanInside(Uncertainty(Flow(1, -1), Waves(0, 0), Waves(-1, 1), /*backward=*/true)),
            0.02);
}

TEST(FlowUncertaintyTest, ASmallErrorIsExpectedInItsOwnSize) {
  for (const float error : {0.25F, 0.5F, 1.0F}) {
    const double expected = MeanInside(Uncertainty(Flow(1 + error, 0), Waves(0, 0), Waves(1, 0)));
    // The gradient's other half does not see the error.
    EXPECT_GT(expected, error / 2) << error;
    EXPECT_LT(expected, error) << error;
  }
}

TEST(FlowUncertaintyTest, AnEdgeOfTheMotionIsUncertainAndItsSidesAreNot) {
  std::vector<float> flow = Flow(0, 0);
  for (std::size_t i = 0; i < kPixels; ++i) flow[2 * i] = i % kWidth < kWidth / 2 ? 0 : 2;
  const std::vector<std::uint8_t> flat(3 * kPixels, 100);
  const std::vector<float> seen = Uncertainty(flow, flat, flat);
  const auto at = [&seen](int x) { return seen[16 * kWidth + x]; };
  // Half of the square moves by 2: a deviation of 1.
  EXPECT_NEAR(at(kWidth / 2), 1, 0.01);
  EXPECT_EQ(at(kWidth / 2 - 6), 0);
  EXPECT_EQ(at(kWidth / 2 + 6), 0);
  EXPECT_GT(at(kWidth / 2 + 4), 0.25);
}

TEST(FlowUncertaintyTest, EachSquareIsThatOfItsDefinition) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<float> flow(2 * kPixels);
  for (float& value : flow) value = number(random);
  const std::vector<std::uint8_t> flat(3 * kPixels, 100);
  const std::vector<float> seen = Uncertainty(flow, flat, flat);
  for (const auto& [x, y] : {std::pair(0, 0), {47, 31}, {20, 3}, {3, 20}, {44, 16}, {24, 16}}) {
    double variance = 0;
    for (const int side : {0, 1}) {
      std::vector<double> near;
      for (int v = std::max(0, y - 5); v <= std::min(kHeight - 1, y + 5); ++v) {
        for (int u = std::max(0, x - 5); u <= std::min(kWidth - 1, x + 5); ++u) {
          near.push_back(flow[2 * (v * kWidth + u) + side]);
        }
      }
      const auto count = static_cast<double>(near.size());
      const double mean = std::accumulate(near.begin(), near.end(), 0.0) / count;
      for (const double value : near) variance += (value - mean) * (value - mean) / count;
    }
    EXPECT_NEAR(seen[y * kWidth + x], std::sqrt(variance), 1e-5) << x << "," << y;
  }
}

// Sums over a square forget what has left it only up to rounding.
TEST(FlowUncertaintyTest, FlatGroundBesideATextureHasANumberToo) {
  std::mt19937 random(9);
  std::vector<double> light;
  for (std::size_t i = 0; i < kPixels; ++i) {
    const bool textured = i % kWidth < kWidth / 3 || i / kWidth < kHeight / 3;
    light.push_back(textured ? static_cast<double>(random() % 256) : 100);
  }
  const std::vector<std::uint8_t> still = Grey(light);
  for (const float shift : {0.1F, 0.3F, 0.7F}) {
    for (const float value : Uncertainty(Flow(shift, shift), still, still)) {
      ASSERT_TRUE(std::isfinite(value));
      ASSERT_GE(value, 0);
    }
  }
}

TEST(FlowUncertaintyTest, OneVectorOfAModelThatWentWrongSpoilsNoOther) {
  const std::vector<float> before = Uncertainty(Flow(1, -1), Waves(0, 0), Waves(1, -1));
  std::vector<float> flow = Flow(1, -1);
  flow[2 * 700] = 1e20F;
  const std::vector<float> seen = Uncertainty(flow, Waves(0, 0), Waves(1, -1));
  for (std::size_t i = 0; i < kPixels; ++i) {
    const bool near = std::abs(static_cast<int>(i % kWidth) - 700 % kWidth) <= 5 &&
                      std::abs(static_cast<int>(i / kWidth) - 700 / kWidth) <= 5;
    if (near) continue;
    ASSERT_NEAR(seen[i], before[i], 1e-4) << i;
  }
}

TEST(FlowUncertaintyTest, AFlowThatIsNotFiniteIsInfinitelyUncertainThereAlone) {
  std::vector<float> flow = Flow(1, -1);
  flow[2 * 700] = std::numeric_limits<float>::quiet_NaN();
  flow[2 * 900 + 1] = -std::numeric_limits<float>::infinity();
  const std::vector<float> seen = Uncertainty(flow, Waves(0, 0), Waves(1, -1));
  for (std::size_t i = 0; i < kPixels; ++i) {
    EXPECT_EQ(std::isfinite(seen[i]), i != 700 && i != 900) << i;
  }
}

TEST(FlowUncertaintyTest, APictureOfOnePixelIsOne) {
  const std::vector<std::uint8_t> pixel(3, 9);
  const std::vector<float> flow = {4, 5};
  EXPECT_EQ(
      FlowUncertainty({.flow = flow, .base = pixel, .target = pixel, .width = 1, .height = 1}),
      std::vector<float>{0});
}

}  // namespace
}  // namespace millrace::pipeline
