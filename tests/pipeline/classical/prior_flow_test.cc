#include "pipeline/classical/prior_flow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>

#include "pipeline/classical/reference_flow.h"

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 112;
constexpr int kHeight = 80;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

using Plane = std::vector<float>;

// Waves in all directions, in grey values 0..1, moved by a part of a pixel.
Plane Waves(double shift_x, double shift_y) {
  Plane plane;
  for (int row = 0; row < kHeight; ++row) {
    for (int column = 0; column < kWidth; ++column) {
      const double x = column - shift_x;
      const double y = row - shift_y;
      const double wave = std::sin(x / 4.1 + y / 9.7) + std::sin(y / 3.3 - x / 7.9) +
                          std::sin((x + y) / 2.7) + std::sin((x - 2 * y) / 5.3);
      plane.push_back(static_cast<float>(0.5 + 0.11 * wave));
    }
  }
  return plane;
}

Plane FlowOf(PriorFlow& method, const Plane& previous, const Plane& current) {
  Plane flow(2 * kPixels, NAN);
  method.Compute(previous, current, flow);
  return flow;
}

float MedianInside(const float* plane) {
  std::vector<float> values;
  for (int y = 16; y < kHeight - 16; ++y) {
    values.insert(values.end(), plane + y * kWidth + 16, plane + (y + 1) * kWidth - 16);
  }
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

TEST(PriorFlowTest, SeesAShiftByPartsOfAPixel) {
  PriorFlow method(kWidth, kHeight);
  for (const auto& [dx, dy] : {std::pair(2.5, -1.25), std::pair(0.0, 0.0), std::pair(-3.75, 0.5)}) {
    const Plane flow = FlowOf(method, Waves(0, 0), Waves(dx, dy));
    EXPECT_NEAR(MedianInside(flow.data()), dx, 0.05);
    EXPECT_NEAR(MedianInside(flow.data() + kPixels), dy, 0.05);
  }
}

TEST(PriorFlowTest, APairsFlowDoesNotDependOnThePairBefore) {
  PriorFlow method(kWidth, kHeight);
  const Plane first = FlowOf(method, Waves(0, 0), Waves(2, 1));
  FlowOf(method, Waves(0, 0), Waves(-9, 7));
  EXPECT_EQ(FlowOf(method, Waves(0, 0), Waves(2, 1)), first);
}

TEST(PriorFlowTest, DoesNotDependOnTheNumberOfThreads) {
  PriorFlow method(kWidth, kHeight);
  const Plane expected = FlowOf(method, Waves(0, 0), Waves(2.5, -1.25));
  for (const int threads : {2, 4}) {
    cv::setNumThreads(threads);
    EXPECT_EQ(FlowOf(method, Waves(0, 0), Waves(2.5, -1.25)), expected) << threads;
  }
  cv::setNumThreads(1);
}

// The reference `prior` is what a network begins with.
TEST(PriorFlowTest, IsTheReferenceOfThisName) {
  std::vector<std::uint8_t> rgb[2];
  Plane planes[2];
  for (int i = 0; i < 2; ++i) {
    for (const float value : Waves(2.5 * i, -1.5 * i)) {
      const auto byte = static_cast<std::uint8_t>(std::lround(255 * value));
      rgb[i].insert(rgb[i].end(), 3, byte);
      planes[i].push_back(static_cast<float>(byte) / 255);
    }
  }
  PriorFlow method(kWidth, kHeight);
  const Plane flow = FlowOf(method, planes[0], planes[1]);
  const auto reference = MakeReferenceFlow("prior", kWidth, kHeight);
  ASSERT_TRUE(reference.ok()) << reference.status();
  const std::vector<float> vectors = (*reference)->Flow(rgb[0], rgb[1]);
  for (std::size_t i = 0; i < kPixels; ++i) {
    ASSERT_EQ(vectors[2 * i], flow[i]) << i;
    ASSERT_EQ(vectors[2 * i + 1], flow[kPixels + i]) << i;
  }
}

TEST(PriorFlowTest, NothingMovesBetweenEqualPictures) {
  PriorFlow method(kWidth, kHeight);
  const Plane flow = FlowOf(method, Waves(0, 0), Waves(0, 0));
  EXPECT_LT(*std::ranges::max_element(flow), 1e-3);
  EXPECT_GT(*std::ranges::min_element(flow), -1e-3);
}

TEST(PriorFlowDeathTest, PicturesOfAnotherSizeAreABug) {
  PriorFlow method(kWidth, kHeight);
  Plane small(kPixels - 1);
  Plane flow(2 * kPixels);
  EXPECT_DEATH(method.Compute(small, small, flow), "size");
}

}  // namespace
}  // namespace millrace::pipeline
