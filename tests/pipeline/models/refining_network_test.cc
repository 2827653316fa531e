#include "pipeline/models/refining_network.h"

#include <span>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/classical/prior_flow.h"
#include "pipeline/flow/flow_loss.h"
#include "pipeline/nn/stage.h"
#include "pipeline/scenes/generated_stream.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;

constexpr int kWidth = 96;
constexpr int kHeight = 64;

at::Tensor MovingPictures() {
  return GeneratedStream({.width = kWidth, .height = kHeight, .seed = 4}).Next().pictures;
}

at::Tensor PriorOf(const at::Tensor& pictures) {
  PriorFlow method(kWidth, kHeight);
  at::Tensor flow = at::empty({1, 2, kHeight, kWidth});
  const auto plane = [&](int i) {
    return std::span(pictures[i].const_data_ptr<float>(), std::size_t{kWidth} * kHeight);
  };
  method.Compute(plane(0), plane(1), {flow.mutable_data_ptr<float>(), 2UL * kWidth * kHeight});
  return flow;
}

double MeanDistance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).square().sum(1).sqrt().mean().item<double>();
}

TEST(RefiningNetworkTest, NamesItsLayersForAReader) {
  std::vector<std::string> names;
  for (const auto& layer : MakeRefiningNetwork().layers) names.push_back(layer->name());
  EXPECT_THAT(names, ElementsAre("prior", "encode 1/2", "encode 1/4", "encode 1/8", "decode 1/4",
                                 "decode 1/2", "blend"));
}

TEST(RefiningNetworkTest, OnlyThePriorComputesOnTheHost) {
  const LayerChain network = MakeRefiningNetwork();
  const int last = static_cast<int>(network.layers.size()) - 1;
  EXPECT_FALSE(Stage(network, 0, 0).capturable());
  EXPECT_FALSE(WholeChain(network).capturable());
  EXPECT_TRUE(Stage(network, 1, last).capturable());
}

TEST(RefiningNetworkTest, StartsNearThePrior) {
  const at::Tensor pictures = MovingPictures();
  const at::Tensor prior = PriorOf(pictures);
  const at::Tensor flow = WholeChain(MakeRefiningNetwork()).Forward({pictures})[0];
  ASSERT_EQ(flow.sizes(), prior.sizes());
  const double motion = MeanDistance(prior, prior * 0);
  ASSERT_GT(motion, 0.5);
  EXPECT_LT(MeanDistance(flow, prior), 0.01 * motion);
}

TEST(RefiningNetworkTest, EveryPairHasThePriorOfItsPictures) {
  const at::Tensor pictures = MovingPictures();
  const auto flows = [&](PicturePairs pairs, const at::Tensor& input) {
    return WholeChain(MakeRefiningNetwork({.pairs = pairs})).Forward({input})[0];
  };
  const at::Tensor there = flows(PicturePairs::kOne, pictures);
  const at::Tensor back = flows(PicturePairs::kOne, pictures.flip(0));
  const at::Tensor both = flows(PicturePairs::kBothWays, pictures);
  EXPECT_TRUE(at::allclose(both.narrow(0, 0, 1), there, 0, 1e-5));
  EXPECT_TRUE(at::allclose(both.narrow(0, 1, 1), back, 0, 1e-5));
}

TEST(RefiningNetworkTest, EveryParameterGetsAGradientAfterAStep) {
  const LayerChain network = MakeRefiningNetwork();
  const at::Tensor pictures = MovingPictures();
  const std::vector<at::Tensor> parameters = WholeChain(network).parameters();
  for (const at::Tensor& parameter : parameters) {
    // The last weights are zero at first and hold back all gradients before them.
    if (parameter.abs().max().item<float>() == 0) parameter.variable_data().fill_(0.01);
  }
  ComputeFlowLoss(pictures, WholeChain(network).Forward({pictures})[0], {}).objective.backward();
  for (const at::Tensor& parameter : parameters) {
    EXPECT_GT(parameter.grad().abs().max().item<float>(), 0) << parameter.sizes();
  }
}

TEST(RefiningNetworkTest, SeedDecidesTheWeights) {
  const auto first_weight = [](std::uint64_t seed) {
    return WholeChain(MakeRefiningNetwork({.seed = seed})).parameters().front();
  };
  EXPECT_TRUE(at::equal(first_weight(3), first_weight(3)));
  EXPECT_FALSE(at::equal(first_weight(3), first_weight(4)));
}

}  // namespace
}  // namespace millrace::pipeline
