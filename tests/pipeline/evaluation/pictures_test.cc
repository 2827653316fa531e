#include "pipeline/evaluation/pictures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 13;
constexpr int kHeight = 9;
using Bytes = std::vector<std::uint8_t>;

// A colour, or with channel 3 the luma, in 0..1, between four pixels: slow, exact, obvious.
double Level(const Bytes& rgb, int x, int y, int channel) {
  const std::uint8_t* pixel = &rgb[3 * (static_cast<std::size_t>(y) * kWidth + x)];
  if (channel < 3) return pixel[channel] / 255.0;
  return (0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]) / 255.0;
}

double LevelAt(const Bytes& rgb, double x, double y, int channel) {
  double level = 0;
  for (int row = 0; row < kHeight; ++row) {
    for (int column = 0; column < kWidth; ++column) {
      const double share =
          std::max(0.0, 1 - std::abs(x - column)) * std::max(0.0, 1 - std::abs(y - row));
      level += share * Level(rgb, column, row, channel);
    }
  }
  return level;
}

double SlowLoss(const Bytes& previous, const Bytes& current, const std::vector<float>& flow) {
  double sum = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const std::size_t pixel = static_cast<std::size_t>(y) * kWidth + x;
      const double to_x = x + static_cast<double>(flow[2 * pixel]);
      const double to_y = y + static_cast<double>(flow[2 * pixel + 1]);
      const bool inside =
          to_x >= 0 && to_x <= kWidth - 1 && to_y >= 0 && to_y <= kHeight - 1;  // Not with NaN.
      const double seen = inside ? LevelAt(current, to_x, to_y, 3) : LevelAt(current, x, y, 3);
      const double difference = Level(previous, x, y, 3) - seen;
      sum += std::sqrt(difference * difference + 1e-6);
    }
  }
  return sum / (kWidth * kHeight);
}

double SlowDifference(const Bytes& previous, const Bytes& current, int pixel,
                      const std::vector<float>& flow) {
  const int x = pixel % kWidth;
  const int y = pixel / kWidth;
  const double dx = flow[2 * pixel];
  const double dy = flow[2 * pixel + 1];
  const bool finite = std::isfinite(dx) && std::isfinite(dy);
  const double to_x = std::clamp<double>(x + (finite ? dx : 0), 0, kWidth - 1);
  const double to_y = std::clamp<double>(y + (finite ? dy : 0), 0, kHeight - 1);
  double max = 0;
  for (int channel = 0; channel < 3; ++channel) {
    const double seen = LevelAt(current, to_x, to_y, channel);
    max = std::max(max, std::abs(Level(previous, x, y, channel) - seen));
  }
  return max;
}

// Some vectors of a flow are what a network that went wrong would say.
void Spoil(std::vector<float>& flow, std::mt19937& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {std::nanf(""), kInfinity, -kInfinity, 1e30F}) {
    flow[random() % flow.size()] = wrong;
  }
}

TEST(PicturesTest, TheLossIsThatOfASlowOracle) {
  std::mt19937 random(1);
  for (const float spread : {0.0F, 0.3F, 2.0F, 20.0F}) {
    for (int round = 0; round < 10; ++round) {
      const Bytes previous = RandomBytes(kWidth, kHeight, random);
      const Bytes current = RandomBytes(kWidth, kHeight, random);
      const PairOfPictures pair(previous, current, kWidth, kHeight);
      std::vector<float> flow = RandomFlow(kWidth, kHeight, spread, random);
      EXPECT_NEAR(pair.Loss(flow), SlowLoss(previous, current, flow), 1e-5) << spread;
      Spoil(flow, random);
      EXPECT_NEAR(pair.Loss(flow), SlowLoss(previous, current, flow), 1e-5) << spread;
    }
  }
}

TEST(PicturesTest, DifferencesAreThoseOfASlowOracle) {
  std::mt19937 random(2);
  for (const float spread : {0.0F, 0.3F, 4.0F}) {
    const Bytes previous = RandomBytes(kWidth, kHeight, random);
    const Bytes current = RandomBytes(kWidth, kHeight, random);
    std::vector<float> flow = RandomFlow(kWidth, kHeight, spread, random);
    Spoil(flow, random);
    const std::vector<float> differences =
        PairOfPictures(previous, current, kWidth, kHeight).Differences(flow);
    ASSERT_EQ(differences.size(), std::size_t{kWidth} * kHeight);
    for (int i = 0; i < kWidth * kHeight; ++i) {
      EXPECT_NEAR(differences[i], SlowDifference(previous, current, i, flow), 1e-5);
    }
  }
}

TEST(PicturesTest, NoMotionCostsAsMuchAsAFlowOfZero) {
  std::mt19937 random(3);
  const Bytes previous = RandomBytes(kWidth, kHeight, random);
  const Bytes current = RandomBytes(kWidth, kHeight, random);
  const PairOfPictures pair(previous, current, kWidth, kHeight);
  EXPECT_NEAR(pair.LossOfNoMotion(), pair.Loss(ConstantFlow(kWidth, kHeight, 0, 0)), 1e-9);
}

TEST(PicturesTest, PointingOutOfThePictureWinsNothing) {
  std::mt19937 random(4);
  const Bytes previous = RandomBytes(kWidth, kHeight, random);
  const Bytes current = RandomBytes(kWidth, kHeight, random);
  const PairOfPictures pair(previous, current, kWidth, kHeight);
  for (const float far : {-100.0F, 100.0F}) {
    EXPECT_NEAR(pair.Loss(ConstantFlow(kWidth, kHeight, far, 0)), pair.LossOfNoMotion(), 1e-9);
    EXPECT_NEAR(pair.Loss(ConstantFlow(kWidth, kHeight, 0, far)), pair.LossOfNoMotion(), 1e-9);
  }
}

TEST(PicturesTest, PicturesOfOneRowOrColumnCanBeLookedUp) {
  std::mt19937 random(5);
  for (const auto& [width, height] : {std::pair(1, 7), std::pair(7, 1), std::pair(1, 1)}) {
    const Bytes picture = RandomBytes(width, height, random);
    const PairOfPictures pair(picture, picture, width, height);
    EXPECT_NEAR(pair.Loss(ConstantFlow(width, height, 0, 0)), 1e-3, 1e-6);
    EXPECT_EQ(pair.Differences(ConstantFlow(width, height, 0.5F, 0.5F)).size(),
              static_cast<std::size_t>(width) * height);
  }
}

TEST(PicturesTest, AFlowForTheSameSizeStaysAsItIs) {
  std::mt19937 random(6);
  const std::vector<float> flow = RandomFlow(kWidth, kHeight, 5, random);
  EXPECT_EQ(ResizedFlow(flow, kWidth, kHeight, kWidth, kHeight), flow);
}

TEST(PicturesTest, AConstantFlowGrowsWithItsPictures) {
  for (const auto& [width, height] : {std::pair(26, 9), std::pair(7, 31), std::pair(1, 1)}) {
    const std::vector<float> resized =
        ResizedFlow(ConstantFlow(kWidth, kHeight, 3, -2), kWidth, kHeight, width, height);
    ASSERT_EQ(resized.size(), std::size_t{2} * width * height);
    for (std::size_t i = 0; i < resized.size(); i += 2) {
      EXPECT_NEAR(resized[i], 3.0 * width / kWidth, 1e-5);
      EXPECT_NEAR(resized[i + 1], -2.0 * height / kHeight, 1e-5);
    }
  }
}

// A flow that changes evenly is its own means: bilinear looks exactly between pixels. At the border
// there is nothing beyond to look at.
TEST(PicturesTest, AFlowThatChangesEvenlySurvivesDoublingAndHalving) {
  std::vector<float> flow;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      flow.push_back(0.5F * static_cast<float>(x) - static_cast<float>(y));
      flow.push_back(0.25F * static_cast<float>(y));
    }
  }
  const std::vector<float> doubled = ResizedFlow(flow, kWidth, kHeight, 2 * kWidth, 2 * kHeight);
  const std::vector<float> again = ResizedFlow(doubled, 2 * kWidth, 2 * kHeight, kWidth, kHeight);
  for (int y = 1; y < kHeight - 1; ++y) {
    for (int x = 1; x < kWidth - 1; ++x) {
      const std::size_t value = 2 * (static_cast<std::size_t>(y) * kWidth + x);
      EXPECT_NEAR(again[value], flow[value], 1e-5);
      EXPECT_NEAR(again[value + 1], flow[value + 1], 1e-5);
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
