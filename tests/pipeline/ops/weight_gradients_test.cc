#include "pipeline/ops/weight_gradients.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/ops/convolution.h"
#include "pipeline/ops/split_operators.h"

namespace millrace::pipeline {
namespace {

// An operator's input and parameters: leaves of a graph.
struct Leaves {
  at::Tensor input;
  std::vector<at::Tensor> parameters;

  [[nodiscard]] Leaves Copy() const {
    Leaves copy{.input = Leaf(input), .parameters = {}};
    for (const at::Tensor& parameter : parameters) copy.parameters.push_back(Leaf(parameter));
    return copy;
  }

 private:
  static at::Tensor Leaf(const at::Tensor& from) {
    return from.detach().clone().set_requires_grad(from.requires_grad());
  }
};

at::Tensor Random(at::IntArrayRef sizes) { return at::randn(sizes).set_requires_grad(true); }

using Operator = at::Tensor (*)(const Leaves&);

struct Case {
  const char* name;
  Leaves leaves;
  Operator split;
  Operator whole;  // By LibTorch.
};

std::vector<Case> Cases() {
  at::manual_seed(7);
  const Leaves filter{.input = Random({2, 3, 9, 11}),
                      .parameters = {Random({8, 3, 3, 3}), Random({8})}};
  const Leaves no_bias{.input = filter.input, .parameters = {Random({8, 3, 5, 5})}};
  const Leaves matrix{.input = Random({4, 6}), .parameters = {Random({5, 6}), Random({5})}};
  Leaves from_camera = filter.Copy();
  from_camera.input.set_requires_grad(false);
  const Operator split_filter = [](const Leaves& l) {
    return SplitConv2d(l.input, l.parameters[0], l.parameters[1], 2, 1);
  };
  const Operator whole_filter = [](const Leaves& l) {
    return at::conv2d(l.input, l.parameters[0], l.parameters[1], 2, 1);
  };
  return {{"filter", filter, split_filter, whole_filter},
          {"from the camera", from_camera, split_filter, whole_filter},
          {"without a bias", no_bias,
           [](const Leaves& l) { return SplitConv2d(l.input, l.parameters[0], {}, 1, 2); },
           [](const Leaves& l) { return at::conv2d(l.input, l.parameters[0], {}, 1, 2); }},
          {"matrix", matrix,
           [](const Leaves& l) { return SplitLinear(l.input, l.parameters[0], l.parameters[1]); },
           [](const Leaves& l) { return at::linear(l.input, l.parameters[0], l.parameters[1]); }},
          {"used twice", matrix,
           [](const Leaves& l) {
             return SplitLinear(l.input, l.parameters[0], l.parameters[1]) *
                    SplitLinear(l.input * 2, l.parameters[0], l.parameters[1]);
           },
           [](const Leaves& l) {
             return at::linear(l.input, l.parameters[0], l.parameters[1]) *
                    at::linear(l.input * 2, l.parameters[0], l.parameters[1]);
           }}};
}

void GoBackward(const at::Tensor& result) {
  torch::autograd::backward({(result * result).sum()}, {});
}

void ExpectSameGradients(const Leaves& a, const Leaves& b) {
  if (b.input.requires_grad()) {
    EXPECT_TRUE(at::equal(a.input.grad(), b.input.grad()));
  }
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(a.parameters[i].grad(), b.parameters[i].grad())) << i;
  }
}

TEST(SplitOperatorsTest, AreLibTorchsBitForBit) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Leaves split = c.leaves.Copy();
    const Leaves whole = c.leaves.Copy();
    const at::Tensor result = c.split(split);
    const at::Tensor expected = c.whole(whole);
    EXPECT_TRUE(at::equal(result, expected));
    GoBackward(result);
    GoBackward(expected);
    ExpectSameGradients(split, whole);
  }
}

TEST(WeightGradientsTest, ComeLaterAndAreTheSameBits) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Leaves later = c.leaves.Copy();
    const Leaves at_once = c.leaves.Copy();
    WeightGradients left;
    {
      const WeightGradients::Scope scope(&left);
      GoBackward(c.split(later));
    }
    GoBackward(c.split(at_once));
    for (const at::Tensor& parameter : later.parameters) EXPECT_FALSE(parameter.grad().defined());
    left.AddToParameters();
    ExpectSameGradients(later, at_once);
  }
}

TEST(WeightGradientsTest, OurConvolutionLeavesThoseOfItsWeights) {
  at::manual_seed(9);
  const Leaves later{.input = Random({1, 6, 12, 10}),
                     .parameters = {Random({16, 6, 3, 3}), Random({16})}};
  const Leaves at_once = later.Copy();
  const auto convolve = [](const Leaves& leaves) {
    return Convolve(leaves.input, leaves.parameters[0], leaves.parameters[1],
                    {.stride = 2, .slope = 0.1});
  };
  WeightGradients left;
  {
    const WeightGradients::Scope scope(&left);
    GoBackward(convolve(later));
  }
  GoBackward(convolve(at_once));
  EXPECT_FALSE(later.parameters[0].grad().defined());
  left.AddToParameters();
  ExpectSameGradients(later, at_once);
}

// An update may come between the two.
TEST(WeightGradientsTest, DoNotReadTheWeights) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Leaves later = c.leaves.Copy();
    const Leaves at_once = c.leaves.Copy();
    WeightGradients left;
    {
      const WeightGradients::Scope scope(&left);
      GoBackward(c.split(later));
    }
    GoBackward(c.split(at_once));
    for (at::Tensor parameter : later.parameters) parameter.mutable_data_ptr<float>()[0] += 1;
    left.AddToParameters();
    ExpectSameGradients(later, at_once);
  }
}

TEST(WeightGradientsTest, AreAddedToThoseThatExist) {
  const Leaves leaves{.input = Random({4, 6}), .parameters = {Random({5, 6}), Random({5})}};
  WeightGradients left;
  {
    const WeightGradients::Scope scope(&left);
    GoBackward(SplitLinear(leaves.input, leaves.parameters[0], leaves.parameters[1]));
  }
  left.AddToParameters();
  const at::Tensor once = leaves.parameters[0].grad().clone();
  const void* const memory = leaves.parameters[0].grad().const_data_ptr();
  left.AddToParameters();
  EXPECT_TRUE(at::equal(leaves.parameters[0].grad(), once + once));
  EXPECT_EQ(leaves.parameters[0].grad().const_data_ptr(), memory);
}

// Its gradient must flow on to the leaf.
TEST(WeightGradientsTest, AWeightThatIsNoLeafDoesNotWait) {
  const at::Tensor leaf = Random({5, 6});
  WeightGradients left;
  {
    const WeightGradients::Scope scope(&left);
    GoBackward(SplitLinear(Random({4, 6}), leaf * 2, Random({5})));
  }
  EXPECT_TRUE(leaf.grad().defined());
}

}  // namespace
}  // namespace millrace::pipeline
