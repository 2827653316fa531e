#include "pipeline/flow_networks.h"

#include <cmath>
#include <map>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/flow_loss.h"
#include "pipeline/stage.h"

namespace millrace::pipeline {
namespace {

constexpr int kSide = 64;

at::Tensor Pictures(const std::string& network) {
  return at::rand({2, FlowNetworkInputOf(network)->channels, kSide, kSide});
}

double MillionParameters(const LayerChain& chain) {
  std::int64_t count = 0;
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) count += parameter.numel();
  }
  return static_cast<double>(count) / 1e6;
}

// What the authors' code has, as it was counted.
TEST(FlowNetworksTest, AreAsLargeAsThePublishedOnes) {
  const std::map<std::string, double> published = {
      {"ndconv", 1.084}, {"resunet", 4.457}, {"flownets", 38.68}};
  for (const auto& [name, millions] : published) {
    EXPECT_NEAR(MillionParameters(MakeNamedFlowNetwork({.name = name})), millions,
                0.0006 * millions)
        << name;
  }
}

TEST(FlowNetworksTest, MakeAFlowOfThePicturesSizeThatIsZeroUntilTheyLearn) {
  for (const std::string& name : FlowNetworkNames()) {
    for (const bool both_ways : {false, true}) {
      const LayerChain chain = MakeNamedFlowNetwork({.name = name, .both_ways = both_ways});
      const at::Tensor flow = WholeChain(chain).Forward({Pictures(name)})[0];
      EXPECT_EQ(flow.sizes(), (at::IntArrayRef{both_ways ? 2 : 1, 2, kSide, kSide})) << name;
      EXPECT_EQ(flow.abs().max().item<float>(), 0) << name;
    }
  }
}

// Makes the last layer's weights, zero until it learns, as random as the others.
void Wake(const LayerChain& chain) {
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) {
      if (parameter.abs().max().item<float>() == 0) parameter.variable_data().normal_(0, 0.05);
    }
  }
}

// The way back is the flow of the same pictures the other way round.
TEST(FlowNetworksTest, TheWayBackIsTheFlowOfThePicturesSwapped) {
  for (const std::string& name : FlowNetworkNames()) {
    const LayerChain one_way = MakeNamedFlowNetwork({.name = name, .seed = 3});
    const LayerChain both_ways = MakeNamedFlowNetwork({.name = name, .seed = 3, .both_ways = true});
    Wake(one_way);
    const Stage from = WholeChain(one_way);
    const Stage to = WholeChain(both_ways);
    for (std::size_t i = 0; i < from.parameters().size(); ++i) {
      to.parameters()[i].variable_data().copy_(from.parameters()[i]);
    }
    const at::Tensor pictures = Pictures(name);
    const at::Tensor expected = at::cat(
        {from.Forward({pictures})[0].detach(), from.Forward({pictures.flip(0)})[0].detach()}, 0);
    EXPECT_GT(expected.abs().max().item<float>(), 0) << name;
    EXPECT_TRUE(at::allclose(to.Forward({pictures})[0].detach(), expected, 1e-3, 1e-4)) << name;
  }
}

TEST(FlowNetworksTest, EveryParameterLearns) {
  for (const std::string& name : FlowNetworkNames()) {
    const LayerChain chain = MakeNamedFlowNetwork({.name = name});
    Wake(chain);
    const at::Tensor pictures = Pictures(name);
    ComputeFlowLoss(pictures, WholeChain(chain).Forward({pictures})[0], {}).objective.backward();
    for (const auto& layer : chain.layers) {
      for (const at::Tensor& parameter : layer->parameters()) {
        ASSERT_TRUE(parameter.grad().defined()) << name << ", " << layer->name();
        EXPECT_GT(parameter.grad().abs().max().item<float>(), 0) << name << ", " << layer->name();
      }
    }
  }
}

TEST(FlowNetworksTest, UnknownOnesAreNamedWithThoseThatAre) {
  EXPECT_THAT(
      std::string(FlowNetworkInputOf("raft").status().message()),
      ::testing::AllOf(::testing::HasSubstr("raft"), ::testing::HasSubstr("flow, levels, ndconv")));
}

}  // namespace
}  // namespace millrace::pipeline
