#include "pipeline/ops/finite.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Our own loop reads float32 without gaps. LibTorch reads the others.
TEST(FiniteTest, OneValueThatIsNotFiniteIsFoundInEveryLayoutAndType) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const float value : {kInfinity, -kInfinity, kNan}) {
      const at::Tensor tensor = at::zeros({6, 10}, type);
      const at::Tensor gaps = tensor.slice(1, 0, 10, 3);
      EXPECT_TRUE(AllFinite(tensor) && AllFinite(gaps));
      tensor[5][9] = value;
      EXPECT_FALSE(AllFinite(tensor)) << type << " " << value;
      EXPECT_FALSE(AllFinite(gaps)) << type << " " << value;
      EXPECT_TRUE(AllFinite(tensor.slice(1, 0, 9)));
    }
  }
}

TEST(FiniteTest, TheGreatestValuesAreFiniteThoughTheirSumIsNot) {
  EXPECT_TRUE(AllFinite(at::full({1'000}, std::numeric_limits<float>::max(), at::kFloat)));
  EXPECT_TRUE(AllFinite(at::full({1'000}, -std::numeric_limits<double>::max(), at::kDouble)));
}

TEST(FiniteTest, NothingAndWholeNumbersAreFinite) {
  EXPECT_TRUE(AllFinite(at::empty({0}, at::kFloat)));
  EXPECT_TRUE(AllFinite(at::full({3}, 7, at::kLong)));
  EXPECT_TRUE(AllFinite(std::vector<at::Tensor>()));
}

TEST(FiniteTest, OfManyTensorsOneIsEnough) {
  std::vector<at::Tensor> tensors = {at::zeros({3}), at::zeros({2, 2}), at::zeros({1})};
  EXPECT_TRUE(AllFinite(tensors));
  EXPECT_TRUE(FiniteFlag(tensors).item<bool>());
  tensors[2][0] = kNan;
  EXPECT_FALSE(AllFinite(tensors));
  EXPECT_FALSE(FiniteFlag(tensors).item<bool>());
}

TEST(FiniteTest, ThePowerOfTwoItselfIsNotBelowIt) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const int exponent : {-3, 0, 20, 127}) {
      const double power = std::ldexp(1.0, exponent);
      const at::Tensor below = at::full({4}, -std::nextafterf(static_cast<float>(power), 0), type);
      EXPECT_TRUE(AllBelow(below, exponent)) << exponent;
      EXPECT_FALSE(AllBelow(at::full({4}, power, type), exponent)) << exponent;
      EXPECT_FALSE(AllBelow(at::full({4}, -power, type), exponent)) << exponent;
      EXPECT_FALSE(AllBelow(at::full({4}, kNan, type), exponent)) << exponent;
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
