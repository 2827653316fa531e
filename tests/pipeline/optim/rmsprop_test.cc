#include "pipeline/optim/optimizer.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr OptimizerOptions kAsTorch{.learning_rate = 0.01, .clip_update = 0};
constexpr OptimizerOptions kClipped{.learning_rate = 0.01, .clip_update = 0.5};

at::Tensor Parameter(std::vector<std::int64_t> shape) {
  return at::randn(shape).set_requires_grad(true);
}

void SetGradient(const at::Tensor& parameter, const at::Tensor& gradient) {
  parameter.mutable_grad() = gradient.clone();
}

TEST(RmsPropTest, EqualsTheFormulaWrittenOutForEveryValue) {
  const at::Tensor parameter = Parameter({7});
  std::vector<double> values(7);
  std::vector<double> squares(7, 0);
  for (int i = 0; i < 7; ++i) values[i] = parameter[i].item<double>();
  const auto optimizer = MakeOptimizer(kAsTorch, {parameter});
  for (int step = 0; step < 5; ++step) {
    const at::Tensor gradient = at::randn({7});
    SetGradient(parameter, gradient);
    ASSERT_TRUE(optimizer->Step());
    for (int i = 0; i < 7; ++i) {
      const auto g = gradient[i].item<double>();
      squares[i] = 0.99 * squares[i] + 0.01 * g * g;
      values[i] -= 0.01 * g / (std::sqrt(squares[i]) + 1e-8);
      EXPECT_NEAR(parameter[i].item<double>(), values[i], 1e-5);
    }
  }
  EXPECT_EQ(optimizer->counts().updates, 5);
}

// A gradient may come laid out otherwise than its parameter: each number still meets its own.
TEST(RmsPropTest, LayoutOfAGradientChangesNothing) {
  for (const OptimizerOptions& options : {kAsTorch, kClipped}) {
    const at::Tensor values = at::randn({5, 3});
    const at::Tensor plain = values.clone().set_requires_grad(true);
    const at::Tensor turned = values.clone().set_requires_grad(true);
    const auto of_plain = MakeOptimizer(options, {plain});
    const auto of_turned = MakeOptimizer(options, {turned});
    for (int step = 0; step < 3; ++step) {
      const at::Tensor gradient = at::randn({5, 3});
      plain.mutable_grad() = gradient.clone();
      turned.mutable_grad() = gradient.t().contiguous().t();
      ASSERT_TRUE(of_plain->Step());
      ASSERT_TRUE(of_turned->Step());
    }
    EXPECT_TRUE(at::allclose(plain.detach(), turned.detach(), 1e-5, 1e-6));
  }
}

// Restored from a file, the state lies elsewhere: learning must go on bit for bit all the same.
TEST(RmsPropTest, WhereTheStateLiesChangesNoBit) {
  for (const OptimizerOptions& options : {kAsTorch, kClipped}) {
    for (const std::int64_t count : {1, 7, 64, 1001}) {
      const at::Tensor values = at::randn({count});
      const at::Tensor gradient = at::randn({count});
      const at::Tensor before = at::randn({count}).square();
      std::vector<at::Tensor> made;
      for (std::int64_t offset = 0; offset < 17; ++offset) {
        const at::Tensor room = at::zeros({count + 17});
        OptimizerState state{.of_parameters = {{room.narrow(0, offset, count)}}};
        state.of_parameters[0][0].copy_(before);
        const at::Tensor parameter = values.clone().set_requires_grad(true);
        const auto optimizer = MakeOptimizer(options, {parameter});
        optimizer->set_state(state);
        parameter.mutable_grad() = gradient.clone();
        ASSERT_TRUE(optimizer->Step());
        made.push_back(parameter.detach());
        EXPECT_TRUE(at::equal(made.back(), made.front())) << count << " from " << offset;
      }
    }
  }
}

// The same, where it is laid out otherwise than a parameter whose channels lie side by side.
TEST(RmsPropTest, LayoutOfARestoredStateChangesNoBit) {
  for (const OptimizerOptions& options : {kAsTorch, kClipped}) {
    const at::Tensor values = at::randn({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor gradient = at::randn({4, 3, 3, 3});
    const at::Tensor squares = at::randn({4, 3, 3, 3}).square();
    std::vector<at::Tensor> made;
    for (const auto layout : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous}) {
      const at::Tensor parameter = values.clone().set_requires_grad(true);
      const auto optimizer = MakeOptimizer(options, {parameter});
      optimizer->set_state({.of_parameters = {{squares.contiguous(layout)}}});
      parameter.mutable_grad() = gradient.clone();
      ASSERT_TRUE(optimizer->Step());
      made.push_back(parameter.detach());
    }
    EXPECT_TRUE(at::equal(made[0], made[1]));
  }
}

TEST(RmsPropTest, ZeroesTheGradientsThatItApplied) {
  for (const OptimizerOptions& options : {kAsTorch, kClipped}) {
    const at::Tensor parameter = Parameter({3});
    const auto optimizer = MakeOptimizer(options, {parameter});
    SetGradient(parameter, at::randn({3}));
    ASSERT_TRUE(optimizer->Step());
    EXPECT_EQ(parameter.grad().abs().max().item<float>(), 0);
  }
}

TEST(RmsPropTest, OneValueThatIsNotFiniteSkipsTheWholeUpdate) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const at::Tensor good_one = Parameter({3});
    const at::Tensor bad_one = Parameter({4, 2});
    const at::Tensor before = good_one.detach().clone();
    const auto optimizer = MakeOptimizer(kAsTorch, {good_one, bad_one});
    SetGradient(good_one, at::randn({3}));
    at::Tensor gradient = at::randn({4, 2});
    gradient.select(0, 2).select(0, 1).fill_(bad);
    SetGradient(bad_one, gradient);

    EXPECT_FALSE(optimizer->Step());
    EXPECT_TRUE(at::equal(good_one, before));
    EXPECT_EQ(optimizer->state().of_parameters[0][0].abs().max().item<float>(), 0);
    EXPECT_EQ(optimizer->counts().skipped, 1);
    EXPECT_EQ(optimizer->counts().updates, 0);
    // The next update does not meet the bad gradient again.
    SetGradient(good_one, at::randn({3}));
    EXPECT_TRUE(optimizer->Step());
    EXPECT_TRUE(bad_one.isfinite().all().item<bool>());
  }
}

TEST(RmsPropTest, LargestFiniteGradientIsNotTakenForInfinite) {
  const at::Tensor parameter = Parameter({2});
  const auto optimizer = MakeOptimizer(kAsTorch, {parameter});
  SetGradient(parameter, at::full({2}, 1e18F));
  EXPECT_TRUE(optimizer->Step());
  EXPECT_TRUE(parameter.isfinite().all().item<bool>());
}

TEST(RmsPropTest, ParameterWithoutGradientStaysAsItIs) {
  const at::Tensor used = Parameter({2});
  const at::Tensor unused = Parameter({2});
  const at::Tensor before = unused.detach().clone();
  const auto optimizer = MakeOptimizer(kAsTorch, {used, unused});
  SetGradient(used, at::randn({2}));
  EXPECT_TRUE(optimizer->Step());
  EXPECT_TRUE(at::equal(unused, before));
}

TEST(RmsPropTest, GraphStoredBeforeAnUpdateStillGoesBackAndMeetsTheNewWeights) {
  const at::Tensor weight = Parameter({3});
  const at::Tensor input = at::randn({3}).set_requires_grad(true);
  const at::Tensor stored = (weight * input).sum();
  const auto optimizer = MakeOptimizer({.learning_rate = 0.5}, {weight});
  SetGradient(weight, at::randn({3}));
  ASSERT_TRUE(optimizer->Step());
  stored.backward();
  EXPECT_TRUE(at::equal(input.grad(), weight.detach()));
}

TEST(RmsPropTest, LearningRateOfZeroChangesNothing) {
  const at::Tensor parameter = Parameter({3});
  const at::Tensor before = parameter.detach().clone();
  const auto optimizer = MakeOptimizer(kAsTorch, {parameter});
  optimizer->set_learning_rate(0);
  SetGradient(parameter, at::randn({3}));
  EXPECT_TRUE(optimizer->Step());
  EXPECT_TRUE(at::equal(parameter, before));
}

}  // namespace
}  // namespace millrace::pipeline
