#include "pipeline/ops/blend_flow.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/pixel_unshuffle.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "pipeline/ops/by_operators.h"

namespace millrace::pipeline {
namespace {

constexpr std::int64_t kHeight = 6;
constexpr std::int64_t kWidth = 10;

// The numbers of single pixels, [n, kBlendChannels, height, width], as those of cells.
at::Tensor InCells(const at::Tensor& of_pixels) { return at::pixel_unshuffle(of_pixels, 2); }

// By the definition, pixel by pixel, in double precision.
double Blended(const at::Tensor& flow, const at::Tensor& choices, std::int64_t c, std::int64_t y,
               std::int64_t x) {
  const auto value = [](const at::Tensor& t, std::int64_t channel, std::int64_t row,
                        std::int64_t column) {
    return t[0][channel][std::clamp<std::int64_t>(row, 0, kHeight - 1)]
            [std::clamp<std::int64_t>(column, 0, kWidth - 1)]
                .item<double>();
  };
  std::vector<double> neighbours = {value(flow, c, y, x)};
  for (const std::int64_t d : kBlendDistances) {
    for (std::int64_t dy = -d; dy <= d; dy += d) {
      for (std::int64_t dx = -d; dx <= d; dx += d) {
        if (dy != 0 || dx != 0) neighbours.push_back(value(flow, c, y + dy, x + dx));
      }
    }
  }
  double sum = 0;
  double weights = 0;
  for (std::size_t k = 0; k < neighbours.size(); ++k) {
    const double weight = std::exp(value(choices, static_cast<std::int64_t>(k), y, x));
    sum += weight * neighbours[k];
    weights += weight;
  }
  return sum / weights + value(choices, kBlendWeights + c, y, x);
}

TEST(BlendFlowTest, IsItsDefinition) {
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth});
  const at::Tensor choices = at::randn({1, kBlendChannels, kHeight, kWidth});
  const at::Tensor blended = BlendFlow(flow, InCells(choices));
  ASSERT_EQ(blended.sizes(), flow.sizes());
  for (std::int64_t c = 0; c < 2; ++c) {
    for (std::int64_t y = 0; y < kHeight; ++y) {
      for (std::int64_t x = 0; x < kWidth; ++x) {
        EXPECT_NEAR(blended[0][c][y][x].item<double>(), Blended(flow, choices, c, y, x), 1e-5);
      }
    }
  }
}

TEST(BlendFlowTest, TheChoicesLearnAndTheFlowDoesNot) {
  const at::Tensor flow = at::randn({2, 2, kHeight, kWidth}).set_requires_grad(true);
  const at::Tensor choices =
      at::randn({2, kBlendChannels, kHeight, kWidth}).set_requires_grad(true);
  BlendFlow(flow, InCells(choices)).square().sum().backward();
  EXPECT_FALSE(flow.grad().defined());
  EXPECT_GT(choices.grad().abs().min().item<float>(), 0);
}

TEST(BlendFlowTest, EqualsLibTorchsOperatorsThereAndBack) {
  for (const double spread : {0.1, 3.0, 60.0}) {
    const at::Tensor flow = at::randn({2, 2, 8, 36}) * 5;
    const at::Tensor choices = at::randn({2, kCellPixels * kBlendChannels, 4, 18}) * spread;
    const at::Tensor ours = choices.clone().set_requires_grad(true);
    const at::Tensor theirs = choices.to(at::kDouble).set_requires_grad(true);
    const at::Tensor blended = BlendFlow(flow, ours);
    const at::Tensor expected = by_operators::BlendFlow(flow.to(at::kDouble), theirs);
    EXPECT_TRUE(at::allclose(blended.to(at::kDouble), expected, 1e-5, 1e-4));
    const at::Tensor weights = at::randn(flow.sizes());
    (blended * weights).sum().backward();
    (expected * weights.to(at::kDouble)).sum().backward();
    EXPECT_TRUE(at::allclose(ours.grad().to(at::kDouble), theirs.grad(), 1e-4, 1e-4));
  }
}

TEST(BlendFlowTest, AValueThatIsNotFiniteStays) {
  at::Tensor choices = at::randn({1, kCellPixels * kBlendChannels, 3, 5});
  choices[0][6][1][2] = NAN;
  EXPECT_TRUE(BlendFlow(at::randn({1, 2, kHeight, kWidth}), choices).isnan().any().item<bool>());
}

TEST(BlendFlowTest, AMixtureIsNeverFasterThanTheFastestNeighbour) {
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}) * 10;
  at::Tensor choices = at::randn({1, kBlendChannels, kHeight, kWidth}) * 50;
  choices.narrow(1, kBlendWeights, 2).zero_();
  EXPECT_LE(BlendFlow(flow, InCells(choices)).abs().max().item<float>(),
            flow.abs().max().item<float>() * 1.0001F);
}

}  // namespace
}  // namespace millrace::pipeline
