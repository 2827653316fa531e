#include "pipeline/scenes/generated_scene.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 96;
constexpr int kHeight = 64;
constexpr int kPixels = kWidth * kHeight;

using Labels = std::vector<std::uint8_t>;

bool IsInside(int x, int y) { return x >= 0 && x < kWidth && y >= 0 && y < kHeight; }

// Whether the 3x3 pixels around x, y all show the same thing: no outline is near.
bool IsPlain(const Labels& labels, int x, int y) {
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (!IsInside(x + dx, y + dy)) return false;
      if (labels[(y + dy) * kWidth + x + dx] != labels[y * kWidth + x]) return false;
    }
  }
  return true;
}

// Checks each pixel's target in the pictures of labels, away from outlines.
struct Verdicts {
  int visible = 0;
  int hidden = 0;
  int left_the_picture = 0;
  int wrong = 0;

  void Judge(const GeneratedScene::Motion& motion, const Labels& before, const Labels& now) {
    for (int i = 0; i < kPixels; ++i) {
      const int from_column = i % kWidth;
      const int from_row = i / kWidth;
      const double x = static_cast<double>(motion.flow[i]) + from_column;
      const double y = static_cast<double>(motion.flow[kPixels + i]) + from_row;
      const bool seen = motion.visible[i] == 1;
      if (x < 0 || y < 0 || x > kWidth - 1 || y > kHeight - 1) {
        ++left_the_picture;
        wrong += seen ? 1 : 0;
        continue;
      }
      const int column = static_cast<int>(std::lround(x));
      const int row = static_cast<int>(std::lround(y));
      if (!IsPlain(now, column, row)) continue;
      const bool same = now[row * kWidth + column] == before[i];
      ++(same ? visible : hidden);
      wrong += seen == same ? 0 : 1;
    }
  }
};

TEST(GeneratedSceneTest, VisibleIsWhatLabelsAndBordersSay) {
  Verdicts verdicts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    GeneratedScene scene({.width = kWidth, .height = kHeight, .speed = 5}, random);
    Labels before = scene.Labels();
    for (int frame = 0; frame < 10; ++frame) {
      scene.Advance();
      const Labels now = scene.Labels();
      verdicts.Judge(scene.MotionToHere(), before, now);
      before = now;
    }
  }
  EXPECT_EQ(verdicts.wrong, 0);
  EXPECT_GT(verdicts.visible, 500'000);
  EXPECT_GT(verdicts.hidden, 1'000);
  EXPECT_GT(verdicts.left_the_picture, 10'000);
}

TEST(GeneratedSceneTest, AllOfAThingMovesAlike) {
  Random random(3);
  GeneratedScene scene({.width = kWidth, .height = kHeight}, random);
  for (int frame = 0; frame < 20; ++frame) {
    const Labels before = scene.Labels();
    scene.Advance();
    const GeneratedScene::Motion motion = scene.MotionToHere();
    for (std::uint8_t thing = 1; thing <= 3; ++thing) {
      const auto first = std::find(before.begin(), before.end(), thing) - before.begin();
      for (int i = 0; i < kPixels; ++i) {
        if (before[i] == thing) {
          ASSERT_EQ(motion.flow[i], motion.flow[first]);
        }
      }
    }
  }
}

TEST(GeneratedSceneTest, WallMovesAsASimilarity) {
  Random random(4);
  GeneratedScene scene({.width = kWidth, .height = kHeight, .min_things = 0, .max_things = 0},
                       random);
  for (int frame = 0; frame < 20; ++frame) {
    scene.Advance();
    const std::vector<float> flow = scene.MotionToHere().flow;
    const auto dx = [&](int x, int y) { return flow[y * kWidth + x]; };
    const auto dy = [&](int x, int y) { return flow[kPixels + y * kWidth + x]; };
    // The flow is linear, and turns and stretches alike in all directions.
    const float stretch = (dx(kWidth - 1, 0) - dx(0, 0)) / (kWidth - 1);
    const float turn = (dy(kWidth - 1, 0) - dy(0, 0)) / (kWidth - 1);
    for (int i = 0; i < kPixels; i += 37) {
      const int x = i % kWidth;
      const int y = i / kWidth;
      ASSERT_NEAR(dx(x, y), dx(0, 0) + stretch * x - turn * y, 1e-4);
      ASSERT_NEAR(dy(x, y), dy(0, 0) + turn * x + stretch * y, 1e-4);
    }
  }
}

TEST(GeneratedSceneTest, CameraStaysAtAUsualDistanceForEver) {
  Random random(5);
  GeneratedScene scene({.width = kWidth, .height = kHeight, .min_things = 0, .max_things = 0},
                       random);
  double magnified = 1;
  for (int frame = 0; frame < 20'000; ++frame) {
    scene.Advance();
    const std::vector<float> flow = scene.MotionToHere().flow;
    const double stretch = 1 + (flow[kWidth - 1] - flow[0]) / (kWidth - 1);
    const double turn = (flow[kPixels + kWidth - 1] - flow[kPixels]) / (kWidth - 1);
    magnified *= std::hypot(stretch, turn);
    ASSERT_GT(magnified, 0.5);
    ASSERT_LT(magnified, 2);
  }
}

}  // namespace
}  // namespace millrace::pipeline
