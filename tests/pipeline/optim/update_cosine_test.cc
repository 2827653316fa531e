#include "pipeline/optim/update_cosine.h"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {
namespace {

class UpdateCosineTest : public ::testing::Test {
 protected:
  void Update(const std::vector<double>& by) {
    cosine_.BeforeUpdate();
    for (std::size_t i = 0; i < by.size(); ++i) values_[i].add_(by[i]);
    cosine_.AfterUpdate();
  }

  const std::vector<at::Tensor> values_ = {at::zeros({1}), at::zeros({1})};
  UpdateCosine cosine_{values_};
};

TEST_F(UpdateCosineTest, IsTheMeanOverPairsOfNeighbours) {
  EXPECT_EQ(cosine_.mean(), std::nullopt);
  Update({1, 0});
  EXPECT_EQ(cosine_.mean(), std::nullopt);
  Update({2, 2});
  EXPECT_NEAR(cosine_.mean().value(), std::sqrt(0.5), 1e-6);
  Update({-1, -1});
  EXPECT_NEAR(cosine_.mean().value(), (std::sqrt(0.5) - 1) / 2, 1e-6);
}

TEST_F(UpdateCosineTest, AnUpdateThatChangesNothingHasNone) {
  Update({1, 0});
  Update({0, 0});
  Update({1, 0});
  EXPECT_EQ(cosine_.mean(), std::nullopt);
  Update({1, 0});
  EXPECT_NEAR(cosine_.mean().value(), 1, 1e-6);
}

TEST_F(UpdateCosineTest, HoldsForUpdatesWhoseSquaresNoFloatHolds) {
  Update({1e-25, 0});
  Update({1e25, 1e25});
  EXPECT_NEAR(cosine_.mean().value(), std::sqrt(0.5), 1e-6);
}

// The update of SGD without momentum is its gradient.
TEST_F(UpdateCosineTest, OptimizersMeasureItWhereAsked) {
  for (const bool asked : {true, false}) {
    const at::Tensor weight = at::zeros({2}).set_requires_grad(true);
    const auto optimizer = MakeOptimizer(
        {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = 0.5, .measures_cosine = asked},
        {weight});
    for (const auto& gradient : {std::vector<float>{1, 0}, std::vector<float>{3, 3}}) {
      weight.mutable_grad() = at::tensor(gradient);
      EXPECT_TRUE(optimizer->Step());
    }
    EXPECT_EQ(optimizer->update_cosine().has_value(), asked);
    if (asked) {
      EXPECT_NEAR(optimizer->update_cosine().value(), std::sqrt(0.5), 1e-6);
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
