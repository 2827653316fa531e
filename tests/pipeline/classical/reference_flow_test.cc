#include "pipeline/classical/reference_flow.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// A texture of waves in all directions, seen at whole pixels.
Rgb Texture(int width, int height, int shift_x, int shift_y) {
  std::vector<std::uint8_t> rgb;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const double x = column - shift_x;
      const double y = row - shift_y;
      const double wave = std::sin(x / 4.1 + y / 9.7) + std::sin(y / 3.3 - x / 7.9) +
                          std::sin((x + y) / 2.7) + std::sin((x - 2 * y) / 5.3);
      rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(128 + 28 * wave));
    }
  }
  return std::make_shared<const std::vector<std::uint8_t>>(std::move(rgb));
}

double Median(std::vector<float> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

TEST(ReferenceFlowTest, EachMethodSeesAShiftByWholePixels) {
  constexpr int kWidth = 96;
  constexpr int kHeight = 80;
  for (const std::string& name : ReferenceFlowNames()) {
    if (name == "none") continue;
    const auto method = MakeReferenceFlow(name, kWidth, kHeight);
    ASSERT_TRUE(method.ok()) << method.status();
    for (const auto& [dx, dy] : {std::pair(3, -2), std::pair(0, 0), std::pair(-4, 1)}) {
      ClipPair pair;
      pair.previous = Texture(kWidth, kHeight, 0, 0);
      pair.current = Texture(kWidth, kHeight, dx, dy);
      const std::vector<float> flow = (*method)->Flow(*pair.previous, *pair.current);
      ASSERT_EQ(flow.size(), std::size_t{2} * kWidth * kHeight) << name;
      std::vector<float> across;
      std::vector<float> down;
      for (int y = 20; y < kHeight - 20; ++y) {
        for (int x = 20; x < kWidth - 20; ++x) {
          across.push_back(flow[2 * (y * kWidth + x)]);
          down.push_back(flow[2 * (y * kWidth + x) + 1]);
        }
      }
      EXPECT_NEAR(Median(across), dx, 0.3) << name;
      EXPECT_NEAR(Median(down), dy, 0.3) << name;
    }
  }
}

TEST(ReferenceFlowTest, NoneSaysThatNothingMoves) {
  const auto method = MakeReferenceFlow("none", 20, 16);
  ASSERT_TRUE(method.ok());
  ClipPair pair;
  pair.previous = Texture(20, 16, 0, 0);
  pair.current = Texture(20, 16, 3, 3);
  const std::vector<float> flow = (*method)->Flow(*pair.previous, *pair.current);
  EXPECT_EQ(flow.size(), 2u * 20 * 16);
  EXPECT_THAT(flow, Each(0));
}

TEST(ReferenceFlowTest, TheLeastSizeWillDo) {
  for (const std::string& name : ReferenceFlowNames()) {
    for (const auto& [width, height] : {std::pair(16, 16), std::pair(16, 200)}) {
      const auto method = MakeReferenceFlow(name, width, height);
      ASSERT_TRUE(method.ok());
      ClipPair pair;
      pair.previous = Texture(width, height, 0, 0);
      pair.current = Texture(width, height, 1, 0);
      EXPECT_EQ((*method)->Flow(*pair.previous, *pair.current).size(),
                std::size_t{2} * width * height)
          << name;
    }
  }
}

TEST(ReferenceFlowTest, AnUnknownNameIsAnsweredWithThoseThatThereAre) {
  const absl::Status status = MakeReferenceFlow("raft", 64, 64).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& name : ReferenceFlowNames()) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

}  // namespace
}  // namespace millrace::pipeline
