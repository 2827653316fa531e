#include "pipeline/partition.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<StageCost> Layers(const std::vector<double>& totals) {
  std::vector<StageCost> layers;
  for (double total : totals) {
    layers.push_back({.forward = total / 4, .backward = total / 2, .update = total / 4});
  }
  return layers;
}

double Slowest(const std::vector<StageCost>& layers, const Cuts& cuts) {
  double slowest = 0;
  for (const StageCost& stage : StageCosts(layers, cuts)) {
    slowest = std::max(slowest, stage.total());
  }
  return slowest;
}

// The slow way: tries every set of cuts.
double LeastSlowest(const std::vector<StageCost>& layers, int stages) {
  const int n = static_cast<int>(layers.size());
  double least = std::numeric_limits<double>::infinity();
  for (unsigned mask = 0; mask < 1U << (n - 1); ++mask) {
    Cuts cuts;
    for (int i = 1; i < n; ++i) {
      if (mask >> (i - 1) & 1) cuts.push_back(i);
    }
    if (static_cast<int>(cuts.size()) == stages - 1) least = std::min(least, Slowest(layers, cuts));
  }
  return least;
}

TEST(PartitionTest, NoCutsAreBetter) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> cost(0, 1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> totals(3 + trial % 8);
    for (double& total : totals) total = cost(random);
    const std::vector<StageCost> layers = Layers(totals);
    for (int stages = 1; stages <= static_cast<int>(layers.size()); ++stages) {
      const auto cuts = BestCuts(layers, stages);
      ASSERT_TRUE(cuts.ok());
      ASSERT_TRUE(CheckCuts(*cuts, static_cast<int>(layers.size())).ok());
      EXPECT_NEAR(Slowest(layers, *cuts), LeastSlowest(layers, stages), 1e-12);
    }
  }
}

TEST(PartitionTest, CutsAroundTheSlowLayer) {
  EXPECT_THAT(*BestCuts(Layers({1, 1, 8, 1, 1}), 3), ElementsAre(2, 3));
}

TEST(PartitionTest, MoreStagesThanLayersAreRefused) {
  const auto cuts = BestCuts(Layers({1, 1}), 3);
  EXPECT_EQ(cuts.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(cuts.status().message(), HasSubstr("ask for 1 to 2"));
}

TEST(PartitionTest, CutsThatDoNotRiseAreRefused) {
  EXPECT_TRUE(CheckCuts({}, 1).ok());
  EXPECT_TRUE(CheckCuts({1, 3}, 4).ok());
  EXPECT_FALSE(CheckCuts({0}, 4).ok());
  EXPECT_FALSE(CheckCuts({2, 2}, 4).ok());
  EXPECT_FALSE(CheckCuts({4}, 4).ok());
}

}  // namespace
}  // namespace millrace::pipeline
