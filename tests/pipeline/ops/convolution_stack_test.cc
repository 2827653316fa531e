#include "pipeline/ops/convolution_stack.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

ConvolutionStack Two(at::Generator random) {
  return {3, {{.channels = 8, .stride = 2}, {.channels = 4}}, random};
}

TEST(ConvolutionStackTest, HaveAWeightAndABiasEachInOrder) {
  const ConvolutionStack two = Two(at::detail::createCPUGenerator(1));
  ASSERT_EQ(two.parameters().size(), 4u);
  EXPECT_EQ(two.parameters()[0].sizes(), at::IntArrayRef({8, 3, 3, 3}));
  EXPECT_EQ(two.parameters()[1].sizes(), at::IntArrayRef({8}));
  EXPECT_EQ(two.parameters()[2].sizes(), at::IntArrayRef({4, 8, 3, 3}));
  for (const at::Tensor& parameter : two.parameters()) {
    EXPECT_TRUE(parameter.requires_grad() && parameter.is_leaf());
  }
}

TEST(ConvolutionStackTest, TheSameSeedDrawsTheSameWeights) {
  const ConvolutionStack one = Two(at::detail::createCPUGenerator(1));
  const ConvolutionStack again = Two(at::detail::createCPUGenerator(1));
  const ConvolutionStack other = Two(at::detail::createCPUGenerator(2));
  EXPECT_TRUE(at::equal(one.parameters()[2], again.parameters()[2]));
  EXPECT_FALSE(at::equal(one.parameters()[2], other.parameters()[2]));
}

TEST(ConvolutionStackTest, ForwardIsEachConvolutionAndItsLeakyRelu) {
  ConvolutionStack three = Two(at::detail::createCPUGenerator(1));
  three.AppendZero(2);
  const at::Tensor input = at::randn({1, 3, 9, 12}, at::detail::createCPUGenerator(3));
  const auto& p = three.parameters();
  EXPECT_EQ(three.Forward(input).detach().abs().max().item<float>(), 0) << "weights are zero";
  p[4].variable_data().fill_(-0.1);  // A ReLU would show.
  at::Tensor expected = at::leaky_relu(at::conv2d(input, p[0], p[1], 2, 1), 0.1);
  expected = at::leaky_relu(at::conv2d(expected, p[2], p[3], 1, 1), 0.1);
  expected = at::conv2d(expected, p[4], p[5], 1, 1);
  const at::Tensor made = three.Forward(input);
  ASSERT_EQ(made.sizes(), expected.sizes());
  EXPECT_LT((made - expected).abs().max().item<float>(), 1e-4);
  EXPECT_LT(expected.min().item<float>(), -0.01);
}

// Of a leaky ReLU with a slope of 0.1 for what is negative.
TEST(ConvolutionStackTest, TheVarianceStaysFromLayerToLayer) {
  at::Generator random = at::detail::createCPUGenerator(1);
  const ConvolutionStack many(32, {{.channels = 32}, {.channels = 32}, {.channels = 32}}, random);
  const at::Tensor input = at::randn({1, 32, 64, 64}, random);
  const double before = input.square().mean().item<double>();
  const double after = many.Forward(input).detach().square().mean().item<double>();
  EXPECT_GT(after, 0.5 * before);
  EXPECT_LT(after, 2 * before);
}

}  // namespace
}  // namespace millrace::pipeline
