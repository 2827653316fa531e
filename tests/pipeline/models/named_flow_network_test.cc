#include "pipeline/models/named_flow_network.h"

#include <cmath>
#include <map>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/nn/stage.h"

namespace millrace::pipeline {
namespace {

constexpr int kSide = 64;

at::Tensor Pictures(const std::string& network, PicturePairs pairs = PicturePairs::kOne) {
  return at::rand({PictureCount(pairs), FlowNetworkInputOf(network)->channels, kSide, kSide});
}

double MillionParameters(const LayerChain& chain) {
  std::int64_t count = 0;
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) count += parameter.numel();
  }
  return static_cast<double>(count) / 1e6;
}

// What the authors' code has, as it was counted.
TEST(NamedFlowNetworkTest, AreAsLargeAsThePublishedOnes) {
  const std::map<std::string, double> published = {
      {"ndconv", 1.084}, {"resunet", 4.457}, {"flownets", 38.68}};
  for (const auto& [name, millions] : published) {
    EXPECT_NEAR(MillionParameters(MakeNamedFlowNetwork({.name = name})), millions,
                0.0006 * millions)
        << name;
  }
}

TEST(NamedFlowNetworkTest, MakeAFlowOfThePicturesSizeThatIsZeroUntilTheyLearn) {
  for (const std::string& name : FlowNetworkNames()) {
    for (const PicturePairs pairs : kAllPairs) {
      const LayerChain chain = MakeNamedFlowNetwork({.name = name, .pairs = pairs});
      const at::Tensor flow = WholeChain(chain).Forward({Pictures(name, pairs)})[0];
      EXPECT_EQ(flow.sizes(), (at::IntArrayRef{PairCount(pairs), 2, kSide, kSide})) << name;
      if (name == "refine") continue;  // It begins with a prior.
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

// The same weights in a network of one pair and in one of more.
class TwoNetworks {
 public:
  TwoNetworks(const std::string& name, PicturePairs pairs)
      : chain_of_one_(MakeNamedFlowNetwork({.name = name, .seed = 3})),
        chain_of_more_(MakeNamedFlowNetwork({.name = name, .seed = 3, .pairs = pairs})) {
    Wake(chain_of_one_);
    for (std::size_t i = 0; i < of_one_.parameters().size(); ++i) {
      of_more_.parameters()[i].variable_data().copy_(of_one_.parameters()[i]);
    }
  }

  [[nodiscard]] at::Tensor OfOne(const at::Tensor& pictures) const {
    return of_one_.Forward({pictures})[0].detach();
  }
  [[nodiscard]] at::Tensor OfMore(const at::Tensor& pictures) const {
    return of_more_.Forward({pictures})[0].detach();
  }

 private:
  const LayerChain chain_of_one_;
  const LayerChain chain_of_more_;
  const Stage of_one_ = WholeChain(chain_of_one_);
  const Stage of_more_ = WholeChain(chain_of_more_);
};

// The way back is the flow of the same pictures the other way round.
TEST(NamedFlowNetworkTest, TheWayBackIsTheFlowOfThePicturesSwapped) {
  for (const std::string& name : FlowNetworkNames()) {
    const TwoNetworks networks(name, PicturePairs::kBothWays);
    const at::Tensor pictures = Pictures(name);
    const at::Tensor expected =
        at::cat({networks.OfOne(pictures), networks.OfOne(pictures.flip(0))}, 0);
    EXPECT_GT(expected.abs().max().item<float>(), 0) << name;
    EXPECT_TRUE(at::allclose(networks.OfMore(pictures), expected, 1e-3, 1e-4)) << name;
  }
}

// What is learned from the first pair is judged by the third picture: it must not have seen it.
TEST(NamedFlowNetworkTest, OfThreePicturesTheFirstPairsFlowDoesNotDependOnTheThird) {
  for (const std::string& name : FlowNetworkNames()) {
    const TwoNetworks networks(name, PicturePairs::kInTurn);
    const at::Tensor pictures = Pictures(name, PicturePairs::kInTurn);
    const at::Tensor made = networks.OfMore(pictures);
    const at::Tensor expected = networks.OfOne(pictures.narrow(0, 0, 2));
    EXPECT_TRUE(at::allclose(made.narrow(0, 0, 1), expected, 1e-3, 1e-4)) << name;
    EXPECT_GT((made[1] - made[0]).abs().max().item<float>(), 0) << name;
    pictures[2].zero_();
    EXPECT_TRUE(at::allclose(networks.OfMore(pictures).narrow(0, 0, 1), expected, 1e-3, 1e-4))
        << name;
  }
}

TEST(NamedFlowNetworkTest, EveryParameterLearns) {
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

TEST(NamedFlowNetworkTest, UnknownOnesAreNamedWithThoseThatAre) {
  EXPECT_THAT(std::string(FlowNetworkInputOf("raft").status().message()),
              ::testing::AllOf(::testing::HasSubstr("raft"),
                               ::testing::HasSubstr("refine, flow, levels, ndconv")));
}

}  // namespace
}  // namespace millrace::pipeline
