#include "pipeline/recovery/snapshot_store.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

// After `sample`, one layer of one parameter.
NetworkState StateAfter(std::int64_t sample, double number = 1) {
  return {.sample = sample,
          .layers = {{.parameters = {at::full({2}, number)},
                      .buffers = {at::full({2}, 1.0)},
                      .optimizer = {.of_parameters = {{at::full({2}, 1.0)}}}}}};
}

constexpr std::int64_t kStart = -1;  // The sample of what there is before any other.
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class SnapshotStoreTest : public ::testing::Test {
 protected:
  SnapshotStoreTest() { states_.Reset(StateAfter(kStart)); }

  void Add(const std::vector<std::int64_t>& samples) {
    for (std::int64_t sample : samples) EXPECT_TRUE(states_.Add(StateAfter(sample)));
  }
  std::int64_t Settle(std::int64_t proven) {
    states_.Prove(proven, 1);
    return states_.Settle().state.sample;
  }

  SnapshotStore states_{/*max_unproven=*/3};
};

TEST_F(SnapshotStoreTest, TheStartIsGoodUntilAnotherHasProven) {
  EXPECT_EQ(Settle(100), kStart);
  Add({110});
  EXPECT_EQ(Settle(109), kStart);
  Add({120});
  EXPECT_EQ(Settle(120), 120);
}

TEST_F(SnapshotStoreTest, TheNewestThatHasProvenWins) {
  Add({10, 20, 30});
  EXPECT_EQ(Settle(29), 20);
  EXPECT_EQ(Settle(29), 20) << "as often as it is gone back to";
}

TEST_F(SnapshotStoreTest, WhatHasNotProvenWhenItSettlesNeverWill) {
  Add({10, 20});
  EXPECT_EQ(Settle(15), 10);
  EXPECT_EQ(Settle(20), 10);
  Add({30});
  EXPECT_EQ(Settle(30), 30) << "what comes later may";
}

TEST_F(SnapshotStoreTest, WhatProvesWhileOthersAreAddedIsKept) {
  Add({10, 20});
  states_.Prove(20, 1);
  Add({30});
  EXPECT_EQ(Settle(20), 20);
}

// Where predictions prove little, because most pictures are repeated, the oldest is still proven.
TEST_F(SnapshotStoreTest, ThoseBetweenAreLeftOutWhereTooManyWait) {
  Add({10, 20, 30, 40, 50, 60});
  EXPECT_EQ(Settle(10), 10);
  Add({110, 120, 130, 140, 150, 160});
  EXPECT_EQ(Settle(159), 150) << "not the oldest, if newer ones have proven";
  Add({50, 60, 70, 80});
  EXPECT_EQ(Settle(75), 70);
}

TEST_F(SnapshotStoreTest, AStateThatProvesMakesRoom) {
  Add({10, 20, 30});
  states_.Prove(10, 1);
  Add({40});
  EXPECT_EQ(Settle(20), 20) << "not given up for it";
}

TEST_F(SnapshotStoreTest, AStateWithANumberThatIsNotFiniteIsLeftOut) {
  NetworkState bad_buffer = StateAfter(20);
  bad_buffer.layers[0].buffers[0][1] = kNaN;
  NetworkState bad_optimizer = StateAfter(30);
  bad_optimizer.layers[0].optimizer.of_parameters[0][0][1] = kNaN;
  EXPECT_FALSE(states_.Add(StateAfter(10, std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(states_.Add(bad_buffer));
  EXPECT_FALSE(states_.Add(bad_optimizer));
  EXPECT_EQ(Settle(30), kStart);
}

TEST_F(SnapshotStoreTest, WhatIsLeftOutTakesNoRoom) {
  Add({10, 20, 30});
  EXPECT_FALSE(states_.Add(StateAfter(40, kNaN)));
  EXPECT_EQ(Settle(10), 10);
}

TEST_F(SnapshotStoreTest, SaysOnceWhatHasProvenGood) {
  Add({10, 20, 30});
  const auto proven = states_.Prove(25, 0.5);
  ASSERT_TRUE(proven);
  EXPECT_EQ(proven->state.sample, 20) << "the newest";
  EXPECT_EQ(proven->ratio, 0.5);
  EXPECT_FALSE(states_.Prove(26, 0.5));
  EXPECT_TRUE(states_.Prove(30, 0.5));
}

// What later windows say of later weights takes nothing from it.
TEST_F(SnapshotStoreTest, AStateKeepsTheRatioOfTheWindowByWhichItHasProven) {
  EXPECT_EQ(states_.Settle().ratio, 1) << "the start has none";
  Add({10, 40});
  states_.Prove(10, 0.5);
  states_.Prove(30, 1.5);
  const Snapshot good = states_.Settle();
  EXPECT_EQ(good.state.sample, 10);
  EXPECT_EQ(good.ratio, 0.5);
}

// Stages copy one by one: the window after it may be over before the last of them has.
TEST_F(SnapshotStoreTest, AStateThatIsAddedAfterItsWindowHasProven) {
  states_.Prove(10, 0.5);
  Add({10});
  const Snapshot good = states_.Settle();
  EXPECT_EQ(good.state.sample, 10);
  EXPECT_EQ(good.ratio, 0.5);
}

TEST_F(SnapshotStoreTest, BeginsAnewFromAnotherStart) {
  Add({10, 20});
  EXPECT_EQ(Settle(10), 10);
  Add({30});
  states_.Reset(StateAfter(5));
  EXPECT_EQ(Settle(30), 5);
}

TEST_F(SnapshotStoreTest, GivesTheNumbersBackAsTheyWere) {
  states_.Add(StateAfter(10, 0.25));
  states_.Prove(10, 1);
  const NetworkState good = states_.Settle().state;
  ASSERT_EQ(good.layers.size(), 1U);
  EXPECT_EQ(good.layers[0].parameters[0][1].item<double>(), 0.25);
}

}  // namespace
}  // namespace millrace::pipeline
