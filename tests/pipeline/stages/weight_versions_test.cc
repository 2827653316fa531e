#include "pipeline/stages/weight_versions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

at::Tensor Weight() { return at::randn({3, 3}).set_requires_grad(true); }

TEST(WeightVersionsTest, AnOlderVersionIsThereWhileItIsUsed) {
  const at::Tensor weight = Weight();
  const at::Tensor first = weight.detach().clone();
  WeightVersions versions({weight}, 3);
  for (int i = 0; i < 5; ++i) {
    const at::Tensor before = weight.detach().clone();
    versions.Advance();
    versions.Fill();
    weight.variable_data().add_(1);
    const at::Tensor after = weight.detach().clone();
    {
      const WeightVersions::Use use(versions, versions.newest() - 1);
      EXPECT_TRUE(at::equal(weight, before));
    }
    EXPECT_TRUE(at::equal(weight, after));
  }
  EXPECT_EQ(versions.newest(), 5);
  EXPECT_TRUE(at::equal(weight.detach(), ((((first + 1) + 1) + 1) + 1) + 1));
}

// at::linear() stores a view of the weights, which shares the parameter's memory.
TEST(WeightVersionsTest, StoredGraphMeetsTheVersionInUse) {
  const at::Tensor weight = Weight();
  const at::Tensor input = at::randn({1, 3}).set_requires_grad(true);
  WeightVersions versions({weight}, 2);
  const at::Tensor first = weight.detach().clone();
  const at::Tensor stored = at::linear(input, weight).sum();
  versions.Advance();
  versions.Fill();
  weight.variable_data().mul_(-7);
  {
    const WeightVersions::Use use(versions, 0);
    stored.backward();
  }
  EXPECT_TRUE(at::allclose(input.grad(), at::ones({1, 3}).mm(first)));
  EXPECT_TRUE(at::equal(weight.detach(), first * -7));
}

TEST(WeightVersionsTest, OneVersionIsChangedInPlace) {
  const at::Tensor weight = Weight();
  const void* memory = weight.data_ptr();
  WeightVersions versions({weight}, 1);
  versions.Advance();
  versions.Fill();
  const WeightVersions::Use use(versions, 1);
  EXPECT_EQ(weight.data_ptr(), memory);
}

TEST(WeightVersionsTest, ParametersThatShareMemoryAreOneVersionTogether) {
  const at::Tensor whole = at::randn({6});
  const at::Tensor a = whole.slice(0, 0, 3).detach().set_requires_grad(true);
  const at::Tensor b = whole.slice(0, 3, 6).detach().set_requires_grad(true);
  const at::Tensor before = b.detach().clone();
  WeightVersions versions({a, b}, 2);
  versions.Advance();
  versions.Fill();
  b.variable_data().zero_();
  const WeightVersions::Use use(versions, 0);
  EXPECT_TRUE(at::equal(b, before));
}

}  // namespace
}  // namespace millrace::pipeline
