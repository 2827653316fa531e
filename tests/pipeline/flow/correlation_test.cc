#include "pipeline/correlation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/pipeline/flow/numeric_gradient.h"

namespace millrace::pipeline {
namespace {

// The definition: one shifted product for each displacement.
at::Tensor ShiftedProducts(const at::Tensor& first, const at::Tensor& second, int radius) {
  const at::Tensor padded = at::constant_pad_nd(second, {radius, radius, radius, radius});
  std::vector<at::Tensor> products;
  for (int dy = 0; dy <= 2 * radius; ++dy) {
    for (int dx = 0; dx <= 2 * radius; ++dx) {
      const at::Tensor shifted = padded.narrow(2, dy, first.size(2)).narrow(3, dx, first.size(3));
      products.push_back((first * shifted).sum(1, /*keepdim=*/true));
    }
  }
  return at::cat(products, 1);
}

TEST(CorrelateTest, EqualsShiftedProducts) {
  const at::Tensor first = at::randn({1, 5, 6, 9}, at::kDouble);
  const at::Tensor second = at::randn({1, 5, 6, 9}, at::kDouble);
  EXPECT_TRUE(at::allclose(Correlate(first, second, 3), ShiftedProducts(first, second, 3)));
}

TEST(CorrelateTest, TakesMapsSmallerThanItsRadius) {
  const at::Tensor first = at::randn({1, 2, 2, 1}, at::kDouble);
  const at::Tensor second = at::randn({1, 2, 2, 1}, at::kDouble);
  EXPECT_TRUE(at::allclose(Correlate(first, second, 3), ShiftedProducts(first, second, 3)));
}

TEST(CorrelateTest, TakesMapsWithChannelsSideBySide) {
  const at::Tensor first = at::randn({1, 4, 5, 5}, at::kDouble);
  const at::Tensor second = at::randn({1, 4, 5, 5}, at::kDouble);
  const auto layout = at::MemoryFormat::ChannelsLast;
  EXPECT_TRUE(at::equal(Correlate(first.contiguous(layout), second.contiguous(layout), 2),
                        Correlate(first, second, 2)));
}

TEST(CorrelateTest, GoesBackToBothInputs) {
  const at::Tensor first = at::randn({1, 3, 5, 6}, at::kDouble);
  const at::Tensor second = at::randn({1, 3, 5, 6}, at::kDouble);
  const at::Tensor weight = at::randn({1, 25, 5, 6}, at::kDouble);
  const auto of_first = [&](const at::Tensor& x) {
    return (Correlate(x, second, 2) * weight).sum();
  };
  const auto of_second = [&](const at::Tensor& x) {
    return (Correlate(first, x, 2) * weight).sum();
  };
  EXPECT_TRUE(at::allclose(AutogradGradient(of_first, first), NumericGradient(of_first, first),
                           1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(AutogradGradient(of_second, second), NumericGradient(of_second, second),
                           1e-5, 1e-6));
}

TEST(NormalizeChannelsTest, MakesEveryPixelOfLengthOneAndKeepsZeroFinite) {
  const at::Tensor features = at::randn({2, 8, 3, 4}, at::kDouble) * 100;
  const at::Tensor lengths = NormalizeChannels(features).square().sum(1);
  EXPECT_TRUE(at::allclose(lengths, at::ones_like(lengths), 1e-6));
  EXPECT_EQ(NormalizeChannels(at::zeros({1, 8, 1, 1})).abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace millrace::pipeline
