#include "pipeline/ops/match.h"

#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "pipeline/ops/by_operators.h"
#include "tests/pipeline/support/numeric_gradient.h"

namespace millrace::pipeline {
namespace {

struct Case {
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  bool has_flow;
  PicturePairs pairs;
};

// The flow network's, odd ones, maps smaller than the window and wider than a vector.
const std::vector<Case>& Cases() {
  using enum PicturePairs;
  static const std::vector<Case> kCases = {{24, 9, 12, true, kOne},    {32, 7, 19, true, kBothWays},
                                           {48, 9, 12, false, kOne},   {48, 5, 6, false, kBothWays},
                                           {5, 2, 3, true, kOne},      {17, 4, 33, true, kBothWays},
                                           {24, 6, 11, true, kInTurn}, {48, 4, 5, false, kInTurn}};
  return kCases;
}

at::Tensor Leaf(const at::Tensor& of, at::ScalarType type) {
  if (!of.defined()) return of;
  return of.detach().to(type, /*non_blocking=*/false, /*copy=*/true).requires_grad_(true);
}

at::Tensor FlowOf(const Case& of) {
  if (!of.has_flow) return {};
  return at::randn({PairCount(of.pairs), 2, of.height, of.width}) * 2;
}

bool Near(const at::Tensor& value, const at::Tensor& expected) {
  return at::allclose(value.to(at::kDouble), expected, /*rtol=*/1e-3, /*atol=*/1e-4);
}

TEST(MatchTest, EqualsLibTorchsOperatorsInDoublePrecisionThereAndBack) {
  for (const Case& of : Cases()) {
    const at::Tensor features =
        at::randn({PictureCount(of.pairs), of.channels, of.height, of.width});
    const at::Tensor flow = FlowOf(of);
    const at::Tensor made_of = Leaf(features, at::kFloat);
    const at::Tensor made_through = Leaf(flow, at::kFloat);
    const at::Tensor made = Match(made_of, made_through, of.pairs);
    const at::Tensor weights = at::randn(made.sizes());
    (made * weights).sum().backward();
    const at::Tensor plain_of = Leaf(features, at::kDouble);
    const at::Tensor plain_through = Leaf(flow, at::kDouble);
    const at::Tensor expected = by_operators::Match(plain_of, plain_through, of.pairs);
    (expected * weights).sum().backward();
    EXPECT_TRUE(Near(made, expected)) << of.channels << " channels";
    EXPECT_TRUE(Near(made_of.grad(), plain_of.grad())) << of.channels << " channels";
    if (of.has_flow) {
      EXPECT_TRUE(Near(made_through.grad(), plain_through.grad())) << of.channels << " channels";
    }
  }
}

// By the operator's own values, whatever anybody holds for its definition.
TEST(MatchTest, GradientsEqualFiniteDifferences) {
  constexpr double kStep = 5e-3;
  for (const Case& of : {Cases()[4], Cases()[6], Cases()[7]}) {
    const at::Tensor features =
        at::randn({PictureCount(of.pairs), of.channels, of.height, of.width}, at::kDouble);
    // Bilinear weights have a kink where a flow ends on a pixel.
    const at::Tensor flow = of.has_flow ? FlowOf(of).round().to(at::kDouble) + 0.3 : at::Tensor();
    const at::Tensor weights = at::randn(
        Match(features.to(at::kFloat), Leaf(flow, at::kFloat), of.pairs).sizes(), at::kDouble);
    const auto of_features = [&](const at::Tensor& x) {
      const at::Tensor made =
          Match(x.to(at::kFloat), flow.defined() ? flow.to(at::kFloat) : flow, of.pairs);
      return (made.to(at::kDouble) * weights).sum();
    };
    EXPECT_TRUE(at::allclose(AutogradGradient(of_features, features),
                             NumericGradient(of_features, features, kStep), 1e-2, 1e-2));
    if (!of.has_flow) continue;
    const auto of_flow = [&](const at::Tensor& x) {
      const at::Tensor made = Match(features.to(at::kFloat), x.to(at::kFloat), of.pairs);
      return (made.to(at::kDouble) * weights).sum();
    };
    EXPECT_TRUE(at::allclose(AutogradGradient(of_flow, flow), NumericGradient(of_flow, flow, kStep),
                             1e-2, 1e-2));
  }
}

TEST(MatchTest, ThreadsAndLayoutChangeNoBit) {
  const at::Tensor features = at::randn({2, 24, 8, 10});
  const at::Tensor flow = at::randn({2, 2, 8, 10});
  const auto run = [&](const at::Tensor& of) {
    const at::Tensor leaf = of.detach().requires_grad_(true);
    const at::Tensor made = Match(leaf, flow, PicturePairs::kBothWays);
    made.square().sum().backward();
    return std::vector<at::Tensor>{made, leaf.grad()};
  };
  const auto one = run(features.clone());
  at::set_num_threads(2);
  const auto two = run(features.contiguous(at::MemoryFormat::ChannelsLast));
  at::set_num_threads(1);
  EXPECT_TRUE(at::equal(one[0], two[0]));
  EXPECT_TRUE(at::equal(one[1], two[1]));
}

TEST(MatchTest, FlowFarOutsideOrNotFiniteSeesNothing) {
  const at::Tensor features = at::randn({2, 16, 6, 8});
  for (const double far : {1e3, -1e30, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    const at::Tensor leaf = features.clone().requires_grad_(true);
    const at::Tensor made = Match(leaf, at::full({1, 2, 6, 8}, far), PicturePairs::kOne);
    EXPECT_EQ(made.narrow(1, 0, kMatchChannels).abs().max().item<float>(), 0) << far;
    made.narrow(1, 0, kMatchChannels).sum().backward();
    EXPECT_TRUE(leaf.grad().isfinite().all().item<bool>()) << far;
  }
}

TEST(MatchTest, PixelWithoutFeaturesIsFinite) {
  const at::Tensor leaf = at::zeros({2, 16, 4, 4}).requires_grad_(true);
  const at::Tensor made = Match(leaf, {}, PicturePairs::kOne);
  made.sum().backward();
  EXPECT_EQ(made.abs().max().item<float>(), 0);
  EXPECT_TRUE(leaf.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace millrace::pipeline
