#include "service/commands/evaluate/reference_comparison.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/evaluation/pictures.h"

namespace millrace::service {
namespace {

constexpr int kWidth = 96;
constexpr int kHeight = 64;
constexpr int kShift = 3;

// Blobs over a ground, moved by some pixels to the right.
std::shared_ptr<const ingest::Picture> Blobs(int moved) {
  auto picture = std::make_shared<ingest::Picture>();
  picture->width = kWidth;
  picture->height = kHeight;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int u = x - moved + 100;
      const int level = 40 + (u * u / 7 + y * y / 5 + u * y / 3) % 150;
      picture->rgb.insert(picture->rgb.end(), 3, static_cast<std::uint8_t>(level));
    }
  }
  return picture;
}

Prediction MovedRight(float said) {
  Prediction prediction;
  prediction.previous = Blobs(0);
  prediction.picture = Blobs(kShift);
  auto flow = std::make_shared<std::vector<float>>(2 * kWidth * kHeight);
  for (std::size_t i = 0; i < flow->size(); i += 2) (*flow)[i] = said;
  prediction.model.flow = flow;
  return prediction;
}

TEST(ReferenceComparisonTest, JudgesModelAndMethodOnTheSamePictures) {
  const auto compare = CompareWith("dis", kWidth, kHeight);
  ASSERT_TRUE(compare.ok()) << compare.status();
  Prediction moved = MovedRight(kShift);
  Prediction unmoved = MovedRight(0);
  (*compare)(moved);
  (*compare)(unmoved);
  const Comparison& right = *moved.comparison;
  const Comparison& still = *unmoved.comparison;
  EXPECT_LT(right.loss, 0.2 * right.loss_no_motion);
  EXPECT_EQ(still.loss, still.loss_no_motion);
  EXPECT_EQ(right.loss_no_motion, still.loss_no_motion);
  EXPECT_LT(right.loss_reference, right.loss_no_motion);
  EXPECT_EQ(right.loss_reference, still.loss_reference) << "whatever the model says";
  const pipeline::PairOfPictures pictures(moved.previous->rgb, moved.picture->rgb, kWidth, kHeight);
  EXPECT_EQ(pictures.Loss(*moved.reference_flow), right.loss_reference);
}

TEST(ReferenceComparisonTest, UnknownMethodIsNamed) {
  EXPECT_THAT(std::string(CompareWith("raft", kWidth, kHeight).status().message()),
              ::testing::HasSubstr("raft"));
}

}  // namespace
}  // namespace millrace::service
