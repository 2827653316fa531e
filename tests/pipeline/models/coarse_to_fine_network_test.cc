#include "pipeline/models/coarse_to_fine_network.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/nn/stage.h"
#include "pipeline/optim/optimizer.h"
#include "tests/pipeline/support/plain_flow.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;

TEST(CoarseToFineNetworkTest, NamesItsLayersForAReader) {
  std::vector<std::string> names;
  for (const auto& layer : MakeCoarseToFineNetwork().layers) names.push_back(layer->name());
  EXPECT_THAT(names, ElementsAre("features 1/2", "features 1/4", "features 1/8", "features 1/16",
                                 "match 1/16", "decode 1/16", "match 1/8", "decode 1/8",
                                 "match 1/4", "decode 1/4 a", "decode 1/4 b"));
}

TEST(CoarseToFineNetworkTest, HasAThirdOfAMillionParameters) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : WholeChain(MakeCoarseToFineNetwork()).parameters()) {
    count += parameter.numel();
  }
  EXPECT_GT(count, 300'000);
  EXPECT_LT(count, 375'000);
}

TEST(CoarseToFineNetworkTest, StartsAtExactlyZeroFlowOfThePicturesSize) {
  const at::Tensor flow =
      WholeChain(MakeCoarseToFineNetwork()).Forward({at::rand({2, 1, 64, 96})})[0];
  EXPECT_EQ(flow.sizes(), (std::vector<std::int64_t>{1, 2, 64, 96}));
  EXPECT_EQ(flow.abs().max().item<float>(), 0);
}

// All operators together, and in which order the network uses its parameters.
TEST(CoarseToFineNetworkTest, EqualsLibTorchsOperatorsInDoublePrecisionThereAndBack) {
  for (const PicturePairs pairs : kAllPairs) {
    const LayerChain network = MakeCoarseToFineNetwork({.pairs = pairs});
    const at::Tensor pictures = at::rand({PictureCount(pairs), 1, 48, 64});
    const std::vector<at::Tensor> parameters = WholeChain(network).parameters();
    std::vector<at::Tensor> expected;
    for (const at::Tensor& parameter : parameters) {
      // Not zero: all of the network is seen.
      parameter.variable_data().add_(at::randn(parameter.sizes()), 0.03);
      expected.push_back(parameter.detach().to(at::kDouble).requires_grad_(true));
    }
    const at::Tensor flow = WholeChain(network).Forward({pictures})[0];
    const at::Tensor flow_expected = plain::Flow(expected, pictures.to(at::kDouble), pairs);
    EXPECT_TRUE(at::allclose(flow.to(at::kDouble), flow_expected, 1e-3, 1e-3));
    const at::Tensor weights = at::randn(flow.sizes());
    (flow * weights).mean().backward();
    (flow_expected * weights).mean().backward();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor difference = parameters[i].grad().to(at::kDouble) - expected[i].grad();
      // A ReLU whose input rounds to the other side of zero is off as a whole.
      EXPECT_LT(difference.norm().item<double>(), 0.03 * expected[i].grad().norm().item<double>())
          << i;
    }
  }
}

TEST(CoarseToFineNetworkTest, SeedDecidesTheWeights) {
  const auto first_weight = [](std::uint64_t seed) {
    return WholeChain(MakeCoarseToFineNetwork({.seed = seed})).parameters().front();
  };
  EXPECT_TRUE(at::equal(first_weight(3), first_weight(3)));
  EXPECT_FALSE(at::equal(first_weight(3), first_weight(4)));
}

TEST(CoarseToFineNetworkTest, EveryParameterGetsAGradientAfterAFewSteps) {
  const LayerChain network = MakeCoarseToFineNetwork();
  const std::vector<at::Tensor> parameters = WholeChain(network).parameters();
  const auto optimizer = MakeOptimizer({.learning_rate = 1e-3}, parameters);
  const at::Tensor pictures = at::rand({2, 1, 64, 64});
  // The last convolutions are zero at first and hold back the gradient of all before them: each
  // step opens one more level.
  for (int step = 0; step < 4; ++step) {
    if (step > 0) {
      ASSERT_TRUE(optimizer->Step());
    }
    ComputeFlowLoss(pictures, WholeChain(network).Forward({pictures})[0], {}).objective.backward();
  }
  for (const at::Tensor& parameter : parameters) {
    EXPECT_GT(parameter.grad().abs().max().item<float>(), 0) << parameter.sizes();
  }
}

TEST(CoarseToFineNetworkTest, SmallerNetworkFitsTogether) {
  const LayerChain network =
      MakeCoarseToFineNetwork({.feature_channels = {4, 6, 8, 10}, .decoder_channels = {12, 10, 8}});
  EXPECT_EQ(WholeChain(network).Forward({at::rand({2, 1, 32, 32})})[0].size(3), 32);
}

}  // namespace
}  // namespace millrace::pipeline
