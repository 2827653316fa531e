// Every optimizer against its formula, written out for one number after the other.
#include "pipeline/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/optimizer_kinds.h"

namespace millrace::pipeline {
namespace {

using Kind = OptimizerOptions::Kind;
using ::testing::HasSubstr;

constexpr int kSteps = 20;
constexpr double kRate = 0.01;

// One step of one weight: its state may be anything.
struct Number {
  double value = 0;
  double first = 0;   // Velocity or mean.
  double second = 0;  // Square.
};
using Formula = std::function<void(Number&, double gradient, int step)>;

at::Tensor Doubles(int count) {
  return at::randn({count}, at::TensorOptions().dtype(at::kDouble)).set_requires_grad(true);
}

void ExpectFormula(const OptimizerOptions& options, const Formula& formula, int delay = 0) {
  const at::Tensor parameter = Doubles(7);
  std::vector<Number> numbers(7);
  for (int i = 0; i < 7; ++i) numbers[i].value = parameter[i].item<double>();
  const auto optimizer = MakeOptimizer(options, {parameter});
  optimizer->set_delay(delay);
  for (int step = 1; step <= kSteps; ++step) {
    const at::Tensor gradient = Doubles(7).detach();
    parameter.mutable_grad() = gradient.clone();
    ASSERT_TRUE(optimizer->Step());
    for (int i = 0; i < 7; ++i) {
      formula(numbers[i], gradient[i].item<double>(), step);
      ASSERT_NEAR(parameter[i].item<double>(), numbers[i].value, 1e-6) << "step " << step;
    }
  }
  EXPECT_EQ(optimizer->counts().updates, kSteps);
}

TEST(OptimizerTest, SgdIsItsFormula) {
  ExpectFormula({.kind = Kind::kSgd, .learning_rate = kRate},
                [](Number& n, double g, int) { n.value -= kRate * g; });
  ExpectFormula({.kind = Kind::kSgd, .learning_rate = kRate, .weight_decay = 0.1},
                [](Number& n, double g, int) { n.value -= kRate * (g + 0.1 * n.value); });
  ExpectFormula({.kind = Kind::kSgd, .learning_rate = kRate, .momentum = 0.9},
                [](Number& n, double g, int) {
                  n.first = 0.9 * n.first + g;
                  n.value -= kRate * n.first;
                });
  ExpectFormula({.kind = Kind::kSgd, .learning_rate = kRate, .momentum = 0.9, .nesterov = true},
                [](Number& n, double g, int) {
                  n.first = 0.9 * n.first + g;
                  n.value -= kRate * (g + 0.9 * n.first);
                });
}

void AdamStep(Number& n, double gradient, int step, double eps) {
  n.first = 0.8 * n.first + 0.2 * gradient;
  n.second = 0.95 * n.second + 0.05 * gradient * gradient;
  const double mean = n.first / (1 - std::pow(0.8, step));
  const double square = n.second / (1 - std::pow(0.95, step));
  n.value -= kRate * mean / (std::sqrt(square) + eps);
}

TEST(OptimizerTest, AdamAndAdamWAreTheirFormulas) {
  OptimizerOptions options{.kind = Kind::kAdam,
                           .learning_rate = kRate,
                           .weight_decay = 0.1,
                           .beta1 = 0.8,
                           .beta2 = 0.95,
                           .eps = 1e-3};
  ExpectFormula(options,
                [](Number& n, double g, int step) { AdamStep(n, g + 0.1 * n.value, step, 1e-3); });
  options.kind = Kind::kAdamW;
  ExpectFormula(options, [](Number& n, double g, int step) {
    n.value -= kRate * 0.1 * n.value;
    AdamStep(n, g, step, 1e-3);
  });
}

TEST(OptimizerTest, NAdamWIsItsFormula) {
  const auto momentum = [](int step) { return 0.8 * (1 - 0.5 * std::pow(0.96, 0.004 * step)); };
  std::vector<double> products = {1};  // By step.
  for (int t = 1; t <= kSteps + 1; ++t) products.push_back(products.back() * momentum(t));
  ExpectFormula({.kind = Kind::kNAdamW,
                 .learning_rate = kRate,
                 .weight_decay = 0.1,
                 .beta1 = 0.8,
                 .beta2 = 0.95,
                 .eps = 1e-3},
                [&](Number& n, double g, int t) {
                  n.value -= kRate * 0.1 * n.value;
                  n.first = 0.8 * n.first + 0.2 * g;
                  n.second = 0.95 * n.second + 0.05 * g * g;
                  const double ahead = momentum(t + 1) / (1 - products[t + 1]) * n.first +
                                       (1 - momentum(t)) / (1 - products[t]) * g;
                  const double square = n.second / (1 - std::pow(0.95, t));
                  n.value -= kRate * ahead / (std::sqrt(square) + 1e-3);
                });
}

TEST(OptimizerTest, RmsPropIsItsFormula) {
  ExpectFormula({.learning_rate = kRate, .weight_decay = 0.1, .eps = 1e-3, .clip_update = 0},
                [](Number& n, double g, int) {
                  g += 0.1 * n.value;
                  n.second = 0.99 * n.second + 0.01 * g * g;
                  n.value -= kRate * g / (std::sqrt(n.second) + 1e-3);
                });
}

TEST(OptimizerTest, PipeMareRaisesTheRateOfALateStageStepByStep) {
  const auto rate = [](int step) {
    return kRate / std::pow(6.0, 1 - std::min((step - 1) / 10.0, 1.0));
  };
  ExpectFormula(
      {.kind = Kind::kSgd, .learning_rate = kRate, .pipemare_steps = 10},
      [&](Number& n, double g, int step) { n.value -= rate(step) * g; }, /*delay=*/6);
  // A stage whose gradients are in time has the whole rate at once.
  ExpectFormula(
      {.kind = Kind::kSgd, .learning_rate = kRate, .pipemare_steps = 10},
      [](Number& n, double g, int) { n.value -= kRate * g; }, /*delay=*/0);
}

TEST(OptimizerTest, SpikeCompensationIsItsFormula) {
  constexpr int kDelay = 4;
  const double a = std::pow(0.9, kDelay);
  const double b = (1 - a) / (1 - 0.9);
  const OptimizerOptions options{
      .kind = Kind::kSgd, .learning_rate = kRate, .momentum = 0.9, .spike_compensation = true};
  ExpectFormula(
      options,
      [&](Number& n, double g, int) {
        n.first = 0.9 * n.first + g;
        n.value -= kRate * (a * n.first + b * g);
      },
      kDelay);
  // Without a delay it is momentum.
  ExpectFormula(options, [](Number& n, double g, int) {
    n.first = 0.9 * n.first + g;
    n.value -= kRate * n.first;
  });
}

TEST(OptimizerTest, SpikeCompensationKeepsTheTotalWeightOfAGradient) {
  for (const int delay : {0, 1, 3, 8}) {
    const at::Tensor parameter =
        at::full({1}, 0.0, at::TensorOptions().dtype(at::kDouble)).set_requires_grad(true);
    const auto optimizer = MakeOptimizer(
        {.kind = Kind::kSgd, .learning_rate = kRate, .momentum = 0.8, .spike_compensation = true},
        {parameter});
    optimizer->set_delay(delay);
    for (int step = 0; step < 300; ++step) {
      parameter.mutable_grad() = at::full({1}, step == 0 ? 1.0 : 0.0, parameter.options());
      ASSERT_TRUE(optimizer->Step());
    }
    EXPECT_NEAR(parameter.item<double>(), -kRate / (1 - 0.8), 1e-12) << delay;
  }
}

// PipeMare, section 3: on a quadratic of curvature lambda, gradients that are tau updates late
// converge while the learning rate is below (2 / lambda) sin(pi / (4 tau + 2)).
TEST(OptimizerTest, LateGradientsAreStableUpToPipeMaresBound) {
  constexpr double kLambda = 3;
  const auto end_of = [&](double rate, int tau) {
    const at::Tensor parameter =
        at::full({1}, 1.0, at::TensorOptions().dtype(at::kDouble)).set_requires_grad(true);
    const auto optimizer = MakeOptimizer({.kind = Kind::kSgd, .learning_rate = rate}, {parameter});
    std::vector<double> history(tau + 1, 1.0);
    // Until it has run away: what is too large is not applied.
    for (int step = 0; step < 6000 && std::abs(history.back()) < 1e6; ++step) {
      parameter.mutable_grad() =
          at::full({1}, kLambda * history[history.size() - 1 - tau], parameter.options());
      EXPECT_TRUE(optimizer->Step());
      history.push_back(parameter.item<double>());
    }
    return std::abs(history.back());
  };
  for (const int tau : {0, 1, 2, 6, 14}) {
    const double bound = 2 / kLambda * std::sin(std::numbers::pi / (4 * tau + 2));
    EXPECT_LT(end_of(0.98 * bound, tau), 1e-2) << tau;
    EXPECT_GT(end_of(1.02 * bound, tau), 1e2) << tau;
  }
}

TEST(OptimizerTest, ClipsTheNormOfAllGradientsTogether) {
  const at::Tensor a = Doubles(3);
  const at::Tensor b = Doubles(4);
  const std::vector<at::Tensor> before = {a.detach().clone(), b.detach().clone()};
  const auto optimizer =
      MakeOptimizer({.kind = Kind::kSgd, .learning_rate = 1, .clip_norm = 2}, {a, b});
  const auto moved = [&] {
    return std::hypot((a.detach() - before[0]).norm().item<double>(),
                      (b.detach() - before[1]).norm().item<double>());
  };
  a.mutable_grad() = at::full({3}, 30.0, a.options().requires_grad(false));
  b.mutable_grad() = at::full({4}, -40.0, a.options().requires_grad(false));
  ASSERT_TRUE(optimizer->Step());
  EXPECT_NEAR(moved(), 2, 1e-6);
  // A small one is left as it is.
  a.variable_data().copy_(before[0]);
  b.variable_data().copy_(before[1]);
  a.mutable_grad() = at::full({3}, 0.1, a.options().requires_grad(false));
  ASSERT_TRUE(optimizer->Step());
  EXPECT_NEAR(moved(), 0.1 * std::sqrt(3), 1e-12);
}

// Each tensor's by itself: RMS(u) <= clip * rate. Of rmsprop alone.
TEST(OptimizerTest, ClipsTheUpdateOfEachTensor) {
  constexpr double kClip = 0.5;
  for (const Kind kind : {Kind::kRmsProp, Kind::kSgd, Kind::kAdam, Kind::kAdamW}) {
    const auto after = [kind](double clip, bool dense) {
      at::manual_seed(1);
      const auto parameter = [dense](int count) {
        if (dense) return Doubles(count);
        // Only the operators take it.
        return at::randn({count, 2}, at::kDouble).select(1, 0).detach().set_requires_grad(true);
      };
      const at::Tensor large = parameter(30);
      const at::Tensor small = parameter(40);
      const std::vector<at::Tensor> before = {large.detach().clone(), small.detach().clone()};
      const auto optimizer = MakeOptimizer(
          {.kind = kind, .learning_rate = kRate, .clip_update = clip}, {large, small});
      large.mutable_grad() = 100 * before[0];
      small.mutable_grad() = 1e-9 * before[1];
      EXPECT_TRUE(optimizer->Step());
      return std::vector<at::Tensor>{large.detach() - before[0], small.detach() - before[1]};
    };
    for (const bool dense : {true, false}) {
      const std::vector<at::Tensor> whole = after(0, dense);
      const std::vector<at::Tensor> clipped = after(kClip, dense);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const double rms = whole[i].square().mean().sqrt().item<double>();
        const bool clips = kind == Kind::kRmsProp && rms > kClip * kRate;
        const at::Tensor expected = whole[i] * (clips ? kClip * kRate / rms : 1);
        EXPECT_TRUE(at::allclose(clipped[i], expected, 1e-6, 1e-14)) << static_cast<int>(kind);
      }
      EXPECT_EQ(at::equal(clipped[0], whole[0]), kind != Kind::kRmsProp) << dense;
    }
  }
}

// A first gradient, and one after many small ones: RMSprop alone would go ten times as far.
TEST(OptimizerTest, NoGradientMovesABoundedRmsPropFurtherThanUsual) {
  const at::Tensor weight = Doubles(100);
  const auto optimizer =
      MakeOptimizer({.kind = Kind::kRmsProp, .learning_rate = kRate, .clip_update = 1}, {weight});
  at::Tensor before = weight.detach().clone();
  for (int i = 0; i < 400; ++i) {
    const double size = i % 100 == 0 ? 1000 : 1;
    weight.mutable_grad() = at::full({100}, size, weight.options().requires_grad(false));
    ASSERT_TRUE(optimizer->Step());
    const at::Tensor update = weight.detach() - before;
    EXPECT_LE(update.square().mean().sqrt().item<double>(), 1.0001 * kRate) << i;
    before = weight.detach().clone();
  }
}

class EveryOptimizer : public ::testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] OptimizerOptions options() const {
    return {.kind = GetParam(), .learning_rate = kRate};
  }
};

TEST_P(EveryOptimizer, SkipsGradientsThatAreNotFinite) {
  const at::Tensor good = Doubles(3);
  const at::Tensor bad = Doubles(2);
  const at::Tensor before = good.detach().clone();
  const auto optimizer = MakeOptimizer(options(), {good, bad});
  good.mutable_grad() = Doubles(3).detach();
  bad.mutable_grad() =
      at::full({2}, std::numeric_limits<double>::quiet_NaN(), bad.options().requires_grad(false));
  EXPECT_FALSE(optimizer->Step());
  EXPECT_TRUE(at::equal(good.detach(), before));
  EXPECT_EQ(optimizer->counts().skipped, 1);
  EXPECT_EQ(optimizer->counts().updates, 0);
  good.mutable_grad() = Doubles(3).detach();
  EXPECT_TRUE(optimizer->Step());
  EXPECT_TRUE(bad.isfinite().all().item<bool>());
}

// A gradient that is finite may have a square that is not, and so may a weight.
TEST_P(EveryOptimizer, SkipsWhatWouldNotStayFinite) {
  const at::Tensor weight = at::ones({3}).set_requires_grad(true);
  const auto optimizer = MakeOptimizer(options(), {weight});
  weight.mutable_grad() = at::tensor({0.0F, 1e30F, 0.0F});
  EXPECT_FALSE(optimizer->Step());
  EXPECT_TRUE(at::equal(weight.detach(), at::ones({3})));
  weight.variable_data().fill_(1e30);
  weight.mutable_grad() = at::ones({3});
  EXPECT_FALSE(optimizer->Step());
  EXPECT_EQ(optimizer->counts().skipped, 2);
}

// The most that is allowed of everything at once.
TEST_P(EveryOptimizer, StaysFiniteWhateverIsAllowed) {
  OptimizerOptions extreme = options();
  extreme.learning_rate = 1e6;
  extreme.weight_decay = 1;
  extreme.eps = 1e-12;
  extreme.beta1 = std::nextafter(1.0, 0.0);
  extreme.beta2 = 0;
  if (extreme.kind == Kind::kSgd) extreme.momentum = std::nextafter(1.0, 0.0);
  for (const double clip_update : {0.0, 1e9}) {
    extreme.clip_update = clip_update;
    ASSERT_TRUE(CheckOptimizer(extreme).ok());
    const float large = std::nextafter(std::ldexp(1.0F, 60), 0.0F);
    const at::Tensor weight = at::full({3}, -large).set_requires_grad(true);
    const auto optimizer = MakeOptimizer(extreme, {weight});
    for (int i = 0; i < 20; ++i) {
      const float then = i % 2 == 0 ? large : 0;
      weight.mutable_grad() = at::tensor({large, then, -large});
      optimizer->Step();
      ASSERT_TRUE(weight.detach().isfinite().all().item<bool>()) << weight;
      if (i % 3 == 2) weight.variable_data().fill_(-large);
    }
    for (const auto& kept : optimizer->state().of_parameters) {
      for (const at::Tensor& of : kept) EXPECT_TRUE(of.isfinite().all().item<bool>());
    }
  }
}

TEST_P(EveryOptimizer, LeavesVersionCountersAlone) {
  const at::Tensor weight = Doubles(3);
  const at::Tensor input = Doubles(3);
  const at::Tensor stored = (weight * input).sum();
  const auto optimizer = MakeOptimizer(options(), {weight});
  weight.mutable_grad() = Doubles(3).detach();
  ASSERT_TRUE(optimizer->Step());
  stored.backward();
  EXPECT_TRUE(at::equal(input.grad(), weight.detach()));
}

TEST_P(EveryOptimizer, GradientThatLiesOtherwiseInMemoryIsTheSame) {
  const at::Tensor plain = at::randn({4, 3}).set_requires_grad(true);
  const at::Tensor twin = plain.detach().clone().set_requires_grad(true);
  const at::Tensor gradient = at::randn({3, 4}).t();
  plain.mutable_grad() = gradient.contiguous();
  twin.mutable_grad() = gradient;
  ASSERT_TRUE(MakeOptimizer(options(), {plain})->Step());
  ASSERT_TRUE(MakeOptimizer(options(), {twin})->Step());
  EXPECT_TRUE(at::equal(plain.detach(), twin.detach()));
}

INSTANTIATE_TEST_SUITE_P(All, EveryOptimizer, ::testing::ValuesIn(AllOptimizerKinds()));

TEST(OptimizerTest, BadOptionsSayWhatIsAllowed) {
  const auto message = [](const OptimizerOptions& options) {
    return std::string(CheckOptimizer(options).message());
  };
  EXPECT_THAT(message({.learning_rate = -1}),
              HasSubstr("learning rate is -1; it must be from 0 to"));
  EXPECT_THAT(message({.kind = Kind::kAdam, .beta1 = 1}), HasSubstr("less than 1"));
  EXPECT_THAT(message({.momentum = 0.9}), HasSubstr("sgd only"));
  EXPECT_THAT(message({.clip_update = 1e-9}), HasSubstr("clip update is 1e-09; it must be 0, or"));
  EXPECT_THAT(message({.clip_update = -1}), HasSubstr("clip update is -1"));
  EXPECT_THAT(message({.kind = Kind::kSgd, .nesterov = true}), HasSubstr("need a momentum"));
  EXPECT_THAT(std::string(OptimizerKind("sgdd").status().message()),
              HasSubstr("rmsprop, sgd, adam, adamw"));
}

}  // namespace
}  // namespace millrace::pipeline
