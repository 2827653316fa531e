#include "pipeline/evaluation/ause.h"

#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(RelativeAuseTest, IsZeroForTheTrueOrderOneForChanceAndMoreForTheReverse) {
  std::mt19937 random(5);
  std::vector<double> errors(20'000);
  std::vector<float> same;
  std::vector<float> reverse;
  std::vector<float> chance;
  for (double& error : errors) {
    error = std::exponential_distribution<double>(1)(random);
    same.push_back(static_cast<float>(3 * error));
    reverse.push_back(static_cast<float>(-error));
    chance.push_back(std::uniform_real_distribution<float>()(random));
  }
  EXPECT_NEAR(*RelativeAuse(errors, same), 0, 1e-9);
  EXPECT_NEAR(*RelativeAuse(errors, chance), 1, 0.05);
  EXPECT_GT(*RelativeAuse(errors, reverse), 1.5);
  EXPECT_NEAR(*RelativeAuse(errors, std::vector<float>(errors.size(), 2)), 1, 1e-9)
      << "one uncertainty for all says nothing";
}

// Four pixels, worked out by hand: the curves by error are 2.5, 2, 1.5, 1.
TEST(RelativeAuseTest, IsTheAreaBetweenTheCurvesOverThatOfChance) {
  const std::vector<double> errors = {1, 2, 3, 4};
  const double best = (2.5 + 2 + 1.5 + 1) / 4;
  // Removes 2 first, then 4, 3 and 1.
  const double by_uncertainty = (2.5 + (1 + 3 + 4) / 3.0 + 2 + 1) / 4;
  EXPECT_NEAR(*RelativeAuse(errors, std::vector<float>{0, 9, 1, 5}),
              (by_uncertainty - best) / (2.5 - best), 1e-12);
}

TEST(RelativeAuseTest, EqualErrorsAndNoErrorsHaveNoOrder) {
  EXPECT_EQ(RelativeAuse(std::vector<double>{2, 2, 2}, std::vector<float>{1, 3, 2}), std::nullopt);
  EXPECT_EQ(RelativeAuse({}, {}), std::nullopt);
}

}  // namespace
}  // namespace millrace::pipeline
