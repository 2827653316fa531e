#include "pipeline/flow/occlusion.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr int kHeight = 8;
constexpr int kWidth = 32;
constexpr int kLeft = 8;
constexpr int kSide = 8;
constexpr int kShift = 4;

// A block that goes four pixels to the right before a wall that stands still.
at::Tensor FlowsOfABlock() {
  at::Tensor flows = at::zeros({2, 2, kHeight, kWidth});
  flows.select(0, 0).select(0, 0).narrow(1, kLeft, kSide).fill_(kShift);
  flows.select(0, 1).select(0, 0).narrow(1, kLeft + kShift, kSide).fill_(-kShift);
  return flows;
}

TEST(OcclusionTest, HidesWhatTheBlockComesBeforeAndWhatItLeaves) {
  const at::Tensor visible = VisibleMask(FlowsOfABlock());
  for (int x = 0; x < kWidth; ++x) {
    // The wall to the right of the block will be behind it, as that to its left was.
    const bool covered = x >= kLeft + kSide && x < kLeft + kSide + kShift;
    const bool uncovered = x >= kLeft && x < kLeft + kShift;
    EXPECT_EQ(visible.select(0, 0).select(2, x).all().item<bool>(), !covered) << x;
    EXPECT_EQ(visible.select(0, 1).select(2, x).all().item<bool>(), !uncovered) << x;
  }
}

TEST(OcclusionTest, AllIsVisibleWhereNothingMoves) {
  EXPECT_TRUE(VisibleMask(at::zeros({2, 2, kHeight, kWidth})).all().item<bool>());
}

}  // namespace
}  // namespace millrace::pipeline
