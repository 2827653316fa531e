#include "pipeline/ops/convolution.h"

#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "pipeline/ops/by_operators.h"

namespace millrace::pipeline {
namespace {

struct Case {
  std::int64_t samples;
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t height;
  std::int64_t width;
  int stride;
};

// Every number of vectors and rows there is, those of the flow network, odd sizes and single
// pixels.
const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = {
      {2, 1, 16, 10, 12, 2}, {2, 16, 24, 9, 11, 2}, {1, 75, 64, 5, 13, 1}, {1, 32, 2, 6, 7, 1},
      {2, 48, 48, 3, 4, 1},  {1, 5, 7, 4, 9, 1},    {1, 3, 33, 1, 1, 1},   {1, 16, 16, 1, 2, 1},
      {1, 24, 20, 2, 1, 2},  {2, 17, 70, 7, 6, 2},  {1, 64, 80, 8, 17, 1}};
  return kCases;
}

// The inputs and, after GoThereAndBack(), the outputs and gradients.
struct Values {
  at::Tensor input;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor result = {};

  static Values Random(const Case& of) {
    return {at::randn({of.samples, of.inputs, of.height, of.width}),
            at::randn({of.outputs, of.inputs, 3, 3}), at::randn({of.outputs})};
  }

  [[nodiscard]] Values Leaves(at::ScalarType type) const {
    const auto leaf = [type](const at::Tensor& of) {
      return of.detach().to(type, /*non_blocking=*/false, /*copy=*/true).requires_grad_(true);
    };
    return {leaf(input), leaf(weight), leaf(bias)};
  }
};

bool Near(const at::Tensor& value, const at::Tensor& expected) {
  return at::allclose(value.to(at::kDouble), expected, /*rtol=*/1e-4, /*atol=*/1e-4);
}

Values GoThereAndBack(const Values& given, const at::Tensor& weights, const Case& of,
                      double slope) {
  Values made = given.Leaves(at::kFloat);
  made.result = Convolve(made.input, made.weight, made.bias, {.stride = of.stride, .slope = slope});
  (made.result * weights).sum().backward();
  return made;
}

at::Tensor WeightsOfResult(const Case& of) {
  return at::randn(
      {of.samples, of.outputs, (of.height - 1) / of.stride + 1, (of.width - 1) / of.stride + 1});
}

TEST(ConvolveTest, EqualsLibTorchsInDoublePrecisionThereAndBack) {
  for (const Case& of : Cases()) {
    for (const double slope : {1.0, 0.1}) {
      const Values given = Values::Random(of);
      const at::Tensor weights = WeightsOfResult(of);
      const Values made = GoThereAndBack(given, weights, of, slope);
      Values expected = given.Leaves(at::kDouble);
      expected.result =
          by_operators::Convolve(expected.input, expected.weight, expected.bias, of.stride, slope);
      (expected.result * weights).sum().backward();
      const std::string name = std::to_string(of.inputs) + " to " + std::to_string(of.outputs) +
                               " channels, slope " + std::to_string(slope);
      EXPECT_TRUE(Near(made.result, expected.result)) << name;
      EXPECT_TRUE(Near(made.input.grad(), expected.input.grad())) << name;
      EXPECT_TRUE(Near(made.weight.grad(), expected.weight.grad())) << name;
      EXPECT_TRUE(Near(made.bias.grad(), expected.bias.grad())) << name;
    }
  }
}

TEST(ConvolveTest, ThreadsAndLayoutChangeNoBit) {
  for (const Case& of : Cases()) {
    const Values given = Values::Random(of);
    const at::Tensor weights = WeightsOfResult(of);
    const Values one = GoThereAndBack(given, weights, of, 0.1);
    at::set_num_threads(2);
    const auto layout = at::MemoryFormat::ChannelsLast;
    const Values two = GoThereAndBack(
        {given.input.contiguous(layout), given.weight.contiguous(layout), given.bias}, weights, of,
        0.1);
    at::set_num_threads(1);
    EXPECT_TRUE(at::equal(one.result, two.result));
    EXPECT_TRUE(at::equal(one.input.grad(), two.input.grad()));
    EXPECT_TRUE(at::equal(one.weight.grad(), two.weight.grad()));
    EXPECT_TRUE(at::equal(one.bias.grad(), two.bias.grad()));
  }
}

TEST(ConvolveTest, TakesAPartOfALargerMap) {
  const at::Tensor wide = at::randn({1, 8, 6, 20});
  const at::Tensor weight = at::randn({4, 8, 3, 3});
  const at::Tensor bias = at::randn({4});
  const at::Tensor part = wide.narrow(3, 5, 9);
  EXPECT_TRUE(
      at::equal(Convolve(part, weight, bias, {}), Convolve(part.clone(), weight, bias, {})));
}

}  // namespace
}  // namespace millrace::pipeline
