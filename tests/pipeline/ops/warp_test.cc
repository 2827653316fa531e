#include "pipeline/ops/warp.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr int kHeight = 3;
constexpr int kWidth = 5;

// A flow of `x` and `y` pixels everywhere.
at::Tensor Flow(double x, double y) {
  const at::Tensor flow = at::zeros({1, 2, kHeight, kWidth});
  flow.select(1, 0).fill_(x);
  flow.select(1, 1).fill_(y);
  return flow;
}

// 10 y + x at each pixel.
at::Tensor Picture() {
  const at::Tensor picture = at::zeros({1, 1, kHeight, kWidth});
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) picture[0][0][y][x] = 10 * y + x;
  }
  return picture;
}

float At(const at::Tensor& picture, int y, int x) { return picture[0][0][y][x].item<float>(); }

TEST(WarpTest, TheGridSpansTheCentresOfTheCorners) {
  const at::Tensor grid = LookUpGrid(Flow(0, 0));
  EXPECT_EQ(grid.sizes(), at::IntArrayRef({1, kHeight, kWidth, 2}));
  EXPECT_EQ(grid[0][0][0][0].item<float>(), -1);
  EXPECT_EQ(grid[0][0][0][1].item<float>(), -1);
  EXPECT_EQ(grid[0][kHeight - 1][kWidth - 1][0].item<float>(), 1);
  EXPECT_EQ(grid[0][kHeight - 1][kWidth - 1][1].item<float>(), 1);
}

TEST(WarpTest, EachPixelIsReadWhereItsFlowLeads) {
  const at::Tensor read = LookUp(Picture(), LookUpGrid(Flow(2, 1)));
  EXPECT_NEAR(At(read, 0, 0), 12, 1e-4);
  EXPECT_NEAR(At(read, 1, 2), 24, 1e-4);
  const at::Tensor between = LookUp(Picture(), LookUpGrid(Flow(0.5, 0)));
  EXPECT_NEAR(At(between, 1, 1), 11.5, 1e-4);
}

TEST(WarpTest, OutsideThePictureThereIsZeroOrTheBorder) {
  const at::Tensor grid = LookUpGrid(Flow(2, 0));
  EXPECT_EQ(At(LookUp(Picture(), grid), 1, kWidth - 1), 0);
  EXPECT_NEAR(At(LookUpHeld(Picture(), grid), 1, kWidth - 1), 14, 1e-4);
  const at::Tensor inside = InsideMask(grid);
  EXPECT_EQ(inside.sizes(), at::IntArrayRef({1, 1, kHeight, kWidth}));
  EXPECT_TRUE(inside[0][0][1][kWidth - 3].item<bool>());
  EXPECT_FALSE(inside[0][0][1][kWidth - 2].item<bool>());
}

TEST(WarpTest, AFlowOfAnySizeIsSafeAndFarOutsideHasNoGradient) {
  for (const double far : {1e30, -1e30, std::numeric_limits<double>::infinity()}) {
    const at::Tensor flow = Flow(far, 0).set_requires_grad(true);
    const at::Tensor grid = LookUpGrid(flow);
    EXPECT_LE(grid.abs().max().item<float>(), 2);
    LookUpHeld(Picture(), grid).sum().backward();
    EXPECT_EQ(flow.grad().select(1, 0).abs().max().item<float>(), 0);
  }
}

TEST(WarpTest, AFlowAtTwiceItsSizeHasVectorsTwiceAsLong) {
  const at::Tensor large = UpsampleFlow(Flow(1.5, -2), 2);
  EXPECT_EQ(large.sizes(), at::IntArrayRef({1, 2, 2 * kHeight, 2 * kWidth}));
  EXPECT_TRUE((large.select(1, 0) == 3).all().item<bool>());
  EXPECT_TRUE((large.select(1, 1) == -4).all().item<bool>());
}

}  // namespace
}  // namespace millrace::pipeline
