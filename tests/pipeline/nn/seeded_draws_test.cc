#include "pipeline/nn/seeded_draws.h"

#include <functional>
#include <set>
#include <string>
#include <thread>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/alpha_dropout.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/feature_dropout.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/rrelu.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

at::Tensor ProcessState() { return at::globalContext().defaultGenerator(at::kCPU).get_state(); }

struct Draw {
  std::string name;
  std::function<at::Tensor(const at::Tensor&)> draw;
};

std::vector<Draw> AllDraws() {
  return {
      {"dropout", [](const at::Tensor& x) { return at::dropout(x, 0.5, true); }},
      {"alpha_dropout", [](const at::Tensor& x) { return at::alpha_dropout(x, 0.5, true); }},
      {"feature_dropout", [](const at::Tensor& x) { return at::feature_dropout(x, 0.5, true); }},
      {"rrelu", [](const at::Tensor& x) { return at::rrelu(-x, 0.1, 0.3, true); }},
      {"bernoulli", [](const at::Tensor& x) { return at::bernoulli(x * 0.5); }},
      {"rand_like", [](const at::Tensor& x) { return at::rand_like(x); }},
      {"rand", [](const at::Tensor&) { return at::rand({40}); }},
      {"randn", [](const at::Tensor&) { return at::randn({40}); }},
      {"randint", [](const at::Tensor&) { return at::randint(100, {40}); }},
      {"randperm", [](const at::Tensor&) { return at::randperm(40); }},
      {"multinomial", [](const at::Tensor&) { return at::multinomial(at::ones({40}), 9); }}};
}

class SeededDrawsTest : public ::testing::TestWithParam<Draw> {
 protected:
  [[nodiscard]] at::Tensor WithSeed(std::uint64_t seed) const {
    const SeededDraws draws(seed);
    return GetParam().draw(at::ones({8, 8}));
  }
};

TEST_P(SeededDrawsTest, DependOnTheSeedAlone) {
  const at::Tensor before = ProcessState();
  const at::Tensor first = WithSeed(1);
  at::Tensor elsewhere;
  std::jthread([&] { elsewhere = WithSeed(1); }).join();
  EXPECT_TRUE(at::equal(WithSeed(1), first));
  EXPECT_TRUE(at::equal(elsewhere, first));
  EXPECT_FALSE(at::equal(WithSeed(2), first));
  EXPECT_TRUE(at::equal(ProcessState(), before)) << "drew from the process's generator";
}

TEST_P(SeededDrawsTest, OutsideTheProcessesGeneratorIsDrawnFrom) {
  static_cast<void>(WithSeed(1));
  const at::Tensor before = ProcessState();
  static_cast<void>(GetParam().draw(at::ones({8, 8})));
  EXPECT_FALSE(at::equal(ProcessState(), before));
}

INSTANTIATE_TEST_SUITE_P(AllOperators, SeededDrawsTest, ::testing::ValuesIn(AllDraws()),
                         [](const auto& test) { return test.param.name; });

TEST(SeededDrawsTest, GradientsGoThroughWhatWasDrawn) {
  const at::Tensor input = at::ones({50}).set_requires_grad(true);
  const SeededDraws draws(3);
  const at::Tensor output = at::dropout(input, 0.5, true);
  output.sum().backward();
  EXPECT_TRUE(at::equal(input.grad(), output.detach()));  // 0 or 2.
}

TEST(MixSeedsTest, NeighboursHaveNothingInCommon) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t sample = 0; sample < 100; ++sample) {
    for (std::uint64_t layer = 0; layer < 100; ++layer) {
      seeds.insert(MixSeeds(MixSeeds(0, sample), layer));
    }
  }
  EXPECT_EQ(seeds.size(), 100 * 100);
}

}  // namespace
}  // namespace millrace::pipeline
