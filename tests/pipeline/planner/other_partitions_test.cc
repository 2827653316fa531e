#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/planner/partition.h"
#include "pipeline/planner/scattered_partition.h"
#include "tests/pipeline/planner/block_partition.h"
#include "tests/pipeline/planner/slowest.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;

std::vector<StageCost> Layers(const std::vector<double>& forwards) {
  std::vector<StageCost> layers;
  for (double forward : forwards) layers.push_back({.forward = forward});
  return layers;
}

double Exact(const std::vector<StageCost>& layers, int stages) {
  return Slowest(StageCosts(layers, *BestCuts(layers, stages)));
}

TEST(BlockPartitionTest, EqualLayersAreSpreadEvenly) {
  EXPECT_THAT(BlockPartition(Layers({1, 1, 1, 1}), 2), ElementsAre(2));
  EXPECT_THAT(BlockPartition(Layers({1, 1, 1}), 3), ElementsAre(1, 2));
}

// Random networks of 62 layers on 8 devices: PARTIME's rule is 13 % slower than the exact cuts
// where costs are uniform, 27 % where they are lognormal.
TEST(BlockPartitionTest, IsSlowerThanExactCuts) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  std::lognormal_distribution<double> lognormal(0, 1);
  const auto mean_ratio = [&](auto& cost) {
    double sum = 0;
    for (int net = 0; net < 100; ++net) {
      std::vector<double> costs(62);
      for (double& c : costs) c = cost(random);
      const std::vector<StageCost> layers = Layers(costs);
      const double ratio = LargestBlock(layers, BlockPartition(layers, 8)) / Exact(layers, 8);
      EXPECT_GE(ratio, 1 - 1e-12);
      sum += ratio;
    }
    return sum / 100;
  };
  EXPECT_NEAR(mean_ratio(uniform), 1.13, 0.05);
  EXPECT_NEAR(mean_ratio(lognormal), 1.27, 0.08);
}

TEST(ScatterTest, OneTwoOneOnTwoDevices) {
  const std::vector<StageCost> layers = Layers({1, 2, 1});
  EXPECT_DOUBLE_EQ(Exact(layers, 2), 3);
  const ScatteredPartition scattered = *Scatter(layers, 2);
  EXPECT_DOUBLE_EQ(scattered.slowest, 2);
  EXPECT_THAT(scattered.cuts, ElementsAre(1, 2));
  EXPECT_EQ(scattered.device_of[0], scattered.device_of[2]);
  EXPECT_NE(scattered.device_of[0], scattered.device_of[1]);
  EXPECT_DOUBLE_EQ(ScatterBound(layers, 2), 2);
}

// Beaumont et al., Theorem 5: the chain whose contiguous cuts are almost twice as slow.
std::vector<StageCost> WorstChain(int k) {
  const double epsilon = 1.0 / (2 * k + 1);
  std::vector<double> costs;
  for (int part = 0; part < k; ++part) {
    for (double cost : {double(k), epsilon, double(k - 1), epsilon}) costs.push_back(cost);
  }
  costs.push_back(k);
  costs.insert(costs.end(), (k - 2) * (2 * k + 1) + 1, epsilon);
  costs.push_back(1);
  return Layers(costs);
}

TEST(ScatterTest, ContiguousCutsAreAlmostTwiceAsSlowOnTheoremFivesChain) {
  for (int k = 2; k <= 6; ++k) {
    const std::vector<StageCost> layers = WorstChain(k);
    const int devices = 2 * k + 1;
    EXPECT_NEAR(Scatter(layers, devices)->slowest, k, 1e-9);
    EXPECT_NEAR(ScatterBound(layers, devices), k, 1e-9);
    EXPECT_GE(Exact(layers, devices) / k, 2 - 1.0 / k);
  }
}

TEST(ScatterTest, IsNeverSlowerThanContiguousCutsNorFasterThanTheBound) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> cost(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> costs(2 + random() % 30);
    for (double& c : costs) c = cost(random);
    std::vector<StageCost> layers = Layers(costs);
    for (StageCost& layer : layers) layer.copy = trial % 2 == 0 ? 0 : cost(random) / 4;
    const int devices = 1 + static_cast<int>(random() % layers.size());
    const ScatteredPartition scattered = *Scatter(layers, devices);
    EXPECT_LE(scattered.slowest, Exact(layers, devices) * (1 + 1e-9));
    EXPECT_GE(scattered.slowest, ScatterBound(layers, devices) * (1 - 1e-9));
    EXPECT_TRUE(CheckCuts(scattered.cuts, static_cast<int>(layers.size())).ok());
    EXPECT_EQ(scattered.device_of.size(), scattered.cuts.size() + 1);
  }
}

}  // namespace
}  // namespace millrace::pipeline
