#include "pipeline/ops/blend_flow.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr std::int64_t kHeight = 7;
constexpr std::int64_t kWidth = 9;

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
  const at::Tensor blended = BlendFlow(flow, choices);
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
  BlendFlow(flow, choices).square().sum().backward();
  EXPECT_FALSE(flow.grad().defined());
  EXPECT_GT(choices.grad().abs().min().item<float>(), 0);
}

TEST(BlendFlowTest, AMixtureIsNeverFasterThanTheFastestNeighbour) {
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}) * 10;
  at::Tensor choices = at::randn({1, kBlendChannels, kHeight, kWidth}) * 50;
  choices.narrow(1, kBlendWeights, 2).zero_();
  EXPECT_LE(BlendFlow(flow, choices).abs().max().item<float>(),
            flow.abs().max().item<float>() * 1.0001F);
}

}  // namespace
}  // namespace millrace::pipeline
