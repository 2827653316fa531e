#include "pipeline/planner/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/planner/slowest.h"

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

double SlowestOf(const PartitionRequest& request, const Cuts& cuts) {
  return Slowest(StageCosts(request.layers, cuts, request.speeds));
}

std::vector<Cuts> AllCuts(int layers, int stages) {
  std::vector<Cuts> all;
  for (unsigned mask = 0; mask < 1U << (layers - 1); ++mask) {
    Cuts cuts;
    for (int i = 1; i < layers; ++i) {
      if (mask >> (i - 1) & 1) cuts.push_back(i);
    }
    if (static_cast<int>(cuts.size()) == stages - 1) all.push_back(cuts);
  }
  return all;
}

bool Fits(const PartitionRequest& request, const Cuts& cuts) {
  for (int stage = 0; stage < request.stages; ++stage) {
    const int first = stage > 0 ? cuts[stage - 1] : 0;
    const int end =
        stage + 1 < request.stages ? cuts[stage] : static_cast<int>(request.layers.size());
    const StageHolds holds = request.holds.empty() ? StageHolds{} : request.holds[stage];
    if (StageBytes(request.layers, first, end, holds) > request.memory_bytes) return false;
  }
  return true;
}

// The slow way: tries every set of cuts. Infinite if none fits.
double MinSlowest(const PartitionRequest& request) {
  double min = std::numeric_limits<double>::infinity();
  for (const Cuts& cuts : AllCuts(static_cast<int>(request.layers.size()), request.stages)) {
    if (request.memory_bytes && !Fits(request, cuts)) continue;
    min = std::min(min, SlowestOf(request, cuts));
  }
  return min;
}

// Random layers with copies, and bytes in whole numbers.
PartitionRequest RandomRequest(std::mt19937& random) {
  std::lognormal_distribution<double> cost(0, 1);
  PartitionRequest request;
  const int layers = 2 + static_cast<int>(random() % 8);
  for (int i = 0; i < layers; ++i) {
    LayerProfile layer{.name = "layer" + std::to_string(i)};
    layer.cost = {.forward = cost(random),
                  .backward = cost(random),
                  .update = cost(random) / 4,
                  .copy = random() % 2 == 0 ? cost(random) : 0};
    layer.output_bytes = static_cast<double>(random() % 10);
    layer.weight_bytes = static_cast<double>(random() % 20);
    layer.activation_bytes = static_cast<double>(random() % 20);
    request.layers.push_back(layer);
  }
  request.stages = 1 + static_cast<int>(random() % layers);
  return request;
}

TEST(PartitionTest, NoCutsAreBetterWithCopies) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const PartitionRequest request = RandomRequest(random);
    const auto cuts = BestCuts(request);
    ASSERT_TRUE(cuts.ok());
    ASSERT_TRUE(CheckCuts(*cuts, static_cast<int>(request.layers.size())).ok());
    EXPECT_NEAR(SlowestOf(request, *cuts), MinSlowest(request), 1e-12);
  }
}

TEST(PartitionTest, NoCutsAreBetterForDevicesThatDiffer) {
  std::mt19937 random(13);
  std::lognormal_distribution<double> factor(0, 1);
  for (int trial = 0; trial < 300; ++trial) {
    PartitionRequest request = RandomRequest(random);
    for (int stage = 0; stage < request.stages; ++stage) {
      request.speeds.slowness.push_back(factor(random));
      if (stage > 0) request.speeds.ms_per_byte.push_back(factor(random));
    }
    if (trial % 3 == 1) request.speeds.slowness.clear();
    if (trial % 3 == 2) request.speeds.ms_per_byte.clear();
    const auto cuts = BestCuts(request);
    ASSERT_TRUE(cuts.ok());
    EXPECT_NEAR(SlowestOf(request, *cuts), MinSlowest(request), 1e-9);
  }
}

TEST(PartitionTest, CostsOfDevicesThatDiffer) {
  std::vector<LayerProfile> layers;
  for (int i = 1; i <= 4; ++i) {
    layers.push_back({.name = "",
                      .cost = {.forward = 1.0 * i, .backward = 2, .update = 1, .copy = 100},
                      .output_bytes = 10.0 * i});
  }
  const std::vector<StageCost> costs =
      StageCosts(layers, {1, 2}, {.slowness = {1, 3, 0.5}, .ms_per_byte = {0, 0.2}});
  EXPECT_EQ(costs[0].copy, 0);
  EXPECT_EQ(costs[1].total(), 3 * 5);
  EXPECT_EQ(costs[1].copy, 4);
  EXPECT_EQ(costs[2].forward, 3.5);
  EXPECT_EQ(costs[2].copy, 100) << "leads to no other device";
}

TEST(PartitionTest, NoCutsThatFitIntoMemoryAreBetter) {
  std::mt19937 random(11);
  int infeasible = 0;
  for (int trial = 0; trial < 500; ++trial) {
    PartitionRequest request = RandomRequest(random);
    request.memory_bytes = 30 + static_cast<double>(random() % 100);
    if (random() % 2 == 0) {
      for (int stage = 0; stage < request.stages; ++stage) {
        request.holds.push_back({.versions = 1 + static_cast<int>(random() % 2),
                                 .activations = 1 + static_cast<int>(random() % 3),
                                 .inputs = static_cast<int>(random() % 4)});
      }
    }
    const double min = MinSlowest(request);
    const auto cuts = BestCuts(request);
    ASSERT_EQ(cuts.ok(), std::isfinite(min)) << cuts.status();
    if (cuts.ok()) {
      EXPECT_TRUE(Fits(request, *cuts));
      EXPECT_NEAR(SlowestOf(request, *cuts), min, 1e-12);
    } else {
      EXPECT_EQ(cuts.status().code(), absl::StatusCode::kResourceExhausted);
      ++infeasible;
    }
  }
  EXPECT_GT(infeasible, 50);
  EXPECT_LT(infeasible, 450);
}

PartitionRequest Heavy(const std::vector<double>& weight_bytes, int stages, double memory_bytes) {
  PartitionRequest request{.layers = {}, .stages = stages, .memory_bytes = memory_bytes};
  for (double bytes : weight_bytes) {
    request.layers.push_back({.name = "conv" + std::to_string(request.layers.size()),
                              .cost = {.forward = 1},
                              .weight_bytes = bytes});
  }
  return request;
}

TEST(PartitionTest, ALayerThatFitsNowhereIsNamed) {
  const auto cuts = BestCuts(Heavy({1, 9, 1}, 2, 8));
  EXPECT_THAT(cuts.status().message(), HasSubstr("layer 1 (conv1) needs 9 bytes"));
  EXPECT_THAT(cuts.status().message(), HasSubstr("has 8 bytes"));
}

TEST(PartitionTest, TheFewestDevicesThatWouldDoAreNamed) {
  const auto cuts = BestCuts(Heavy({6, 6, 6, 2}, 2, 8));
  EXPECT_THAT(cuts.status().message(), HasSubstr("do not fit into 2 devices of 8 bytes"));
  EXPECT_THAT(cuts.status().message(), HasSubstr("needs 12 bytes at least; 3 devices would do"));
}

TEST(PartitionTest, ASlowLinkMovesTheCut) {
  std::vector<StageCost> layers = Layers({2, 2, 2, 2});
  EXPECT_THAT(*BestCuts(layers, 2), ElementsAre(2));
  layers[1].copy = 7;  // More than a stage of 6.
  EXPECT_THAT(*BestCuts(layers, 2), ElementsAre(1));
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
