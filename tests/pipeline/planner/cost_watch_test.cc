#include "pipeline/planner/cost_watch.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Optional;

constexpr auto kForward = OperationKind::kForward;
constexpr auto kBackward = OperationKind::kBackward;
constexpr auto kUpdate = OperationKind::kUpdate;

// Two stages of 10 + 20 + 2 ms each, a plan that lasts 10 s at least.
class CostWatchTest : public ::testing::Test {
 protected:
  CostWatchTest() {
    watch_.PlannedWith({2, {.forward = 10, .backward = 20, .update = 2}}, seconds(10));
  }

  void Work(int stage, OperationKind kind, milliseconds took, int times = CostWatch::kWindow) {
    std::int64_t& sample = next_[stage - 1][static_cast<int>(kind)];
    for (int i = 0; i < times; ++i, ++sample) watch_.Record({kind, stage, sample, sample}, took);
  }
  void WorkAsPlanned(int stage, int times = CostWatch::kWindow) {
    Work(stage, kForward, milliseconds(10), times);
    Work(stage, kBackward, milliseconds(20), times);
    Work(stage, kUpdate, milliseconds(2), times);
  }

  CostWatch watch_{{.max_stages = 4}};
  std::int64_t next_[4][kOperationKinds] = {};
};

TEST_F(CostWatchTest, SaysNothingBeforeEveryStageHasWorkedOftenEnough) {
  WorkAsPlanned(1);
  WorkAsPlanned(2, CostWatch::kMinOperations - 1);
  EXPECT_FALSE(watch_.Measured());
  WorkAsPlanned(2, 1);
  EXPECT_TRUE(watch_.Measured());
}

TEST_F(CostWatchTest, WhatIsAsPlannedHasNotMoved) {
  WorkAsPlanned(1);
  WorkAsPlanned(2);
  const auto measured = watch_.Measured();
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(Movement({{.forward = 10, .backward = 20, .update = 2}}, {measured->at(0)}), 0);
  EXPECT_FALSE(watch_.Moved(seconds(100)));
}

TEST_F(CostWatchTest, MovesByMoreThanTheShareOfTheSlowestStageOnly) {
  WorkAsPlanned(1);
  WorkAsPlanned(2);
  Work(2, kBackward, milliseconds(28));  // A quarter of 32 ms.
  EXPECT_FALSE(watch_.Moved(seconds(100)));
  Work(2, kForward, milliseconds(11));
  const auto moved = watch_.Moved(seconds(100));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->at(0).forward, 10);
  EXPECT_EQ(moved->at(1).forward, 11);
  EXPECT_EQ(moved->at(1).backward, 28);
  EXPECT_EQ(moved->at(1).update, 2);
}

TEST_F(CostWatchTest, ASmallStageMayDouble) {
  watch_.PlannedWith({{.forward = 60}, {.forward = 5}}, {});
  Work(1, kForward, milliseconds(60));
  Work(2, kForward, milliseconds(10));
  EXPECT_FALSE(watch_.Moved(seconds(100)));
}

TEST_F(CostWatchTest, BecomingFasterIsMovingToo) {
  Work(1, kForward, milliseconds(5));
  Work(2, kForward, milliseconds(5));
  EXPECT_TRUE(watch_.Moved(seconds(100)));
}

TEST_F(CostWatchTest, AnOperationThatWasInterruptedNowAndThenIsNoMovement) {
  WorkAsPlanned(1);
  WorkAsPlanned(2);
  for (int i = 0; i < CostWatch::kWindow; ++i) {
    Work(1, kForward, i % 3 == 0 ? milliseconds(500) : milliseconds(10), 1);
  }
  EXPECT_FALSE(watch_.Moved(seconds(100)));
}

TEST_F(CostWatchTest, APlanLastsAWhile) {
  Work(1, kForward, milliseconds(100));
  Work(2, kForward, milliseconds(100));
  EXPECT_FALSE(watch_.Moved(seconds(10) - nanoseconds(1)));
  EXPECT_TRUE(watch_.Moved(seconds(10)));
}

// Otherwise it would plan without end.
TEST_F(CostWatchTest, WhatWasPlannedWithIsTheNewMeasure) {
  Work(1, kForward, milliseconds(100));
  Work(2, kForward, milliseconds(100));
  watch_.PlannedWith(*watch_.Moved(seconds(10)), seconds(20));
  EXPECT_FALSE(watch_.Moved(seconds(1000)));
}

TEST_F(CostWatchTest, WithoutAShareNothingMoves) {
  CostWatch watch({.max_stages = 1, .share = 0});
  watch.PlannedWith({{.forward = 10}}, {});
  for (std::int64_t i = 0; i < 100; ++i) watch.Record({kForward, 1, i, i}, milliseconds(900));
  EXPECT_TRUE(watch.Measured());
  EXPECT_FALSE(watch.Moved(seconds(100)));
}

TEST_F(CostWatchTest, WhatNoLongerLearnsIsTakenToMoveAsItsForwards) {
  WorkAsPlanned(1);
  WorkAsPlanned(2);
  const auto samples = static_cast<int>(CostWatch::kLately);
  Work(1, kForward, milliseconds(30), samples);  // It only predicts now.
  auto measured = watch_.Measured();
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->at(0).forward, 30);
  EXPECT_EQ(measured->at(0).backward, 20);  // As measured, which is not long ago.
  Work(1, kForward, milliseconds(30), 1);
  measured = watch_.Measured();
  EXPECT_DOUBLE_EQ(measured->at(0).backward, 60);
  EXPECT_DOUBLE_EQ(measured->at(0).update, 6);
  EXPECT_EQ(measured->at(1).backward, 20);
}

TEST_F(CostWatchTest, TheTwoPartsOfABackwardAddUp) {
  watch_.PlannedWith({{.forward = 10, .backward = 20, .update = 2, .weight_gradient = 8}},
                     seconds(10));
  Work(1, kForward, milliseconds(10));
  Work(1, kBackward, milliseconds(15));
  Work(1, kUpdate, milliseconds(2));
  EXPECT_THAT(watch_.Measured()->at(0).backward, DoubleEq(15)) << "a whole backward";
  EXPECT_THAT(watch_.Measured()->at(0).weight_gradient, DoubleEq(6));
  Work(1, OperationKind::kWeightGradient, milliseconds(4));
  EXPECT_THAT(watch_.Measured()->at(0).backward, DoubleEq(19));
  EXPECT_THAT(watch_.Measured()->at(0).weight_gradient, DoubleEq(4));
  watch_.Forget();
  Work(1, kForward, milliseconds(20));
  Work(1, OperationKind::kWeightGradient, milliseconds(4), 1);
  EXPECT_THAT(watch_.Measured()->at(0).backward, DoubleEq(40)) << "as the forwards have moved";
}

TEST_F(CostWatchTest, ForgetsTheStagesThatWere) {
  WorkAsPlanned(1);
  WorkAsPlanned(2);
  watch_.Forget();
  EXPECT_FALSE(watch_.Measured());
}

TEST_F(CostWatchTest, WorkOnSeveralSamplesIsSharedByThem) {
  watch_.PlannedWith({{.forward = 10, .backward = 10, .update = 10}}, {});
  for (std::int64_t i = 0; i < CostWatch::kMinOperations; ++i) {
    for (const OperationKind kind : {kForward, kBackward, kUpdate}) {
      watch_.Record({kind, 1, 4 * i, 4 * i + 3}, milliseconds(60));
    }
  }
  const auto measured = watch_.Measured();
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->at(0).forward, 15);
  EXPECT_EQ(measured->at(0).backward, 15);
  EXPECT_EQ(measured->at(0).update, 60);
}

// Judged by ThreadSanitizer.
TEST_F(CostWatchTest, WorkersRecordWhileAnotherThreadLooks) {
  std::vector<std::jthread> workers;
  for (int stage = 1; stage <= 2; ++stage) {
    workers.emplace_back([this, stage] {
      for (int i = 0; i < 5000; ++i) {
        for (const OperationKind kind : {kForward, kBackward, kUpdate}) {
          watch_.Record({kind, stage, i, i}, microseconds(500 + i % 10));
        }
      }
    });
  }
  std::optional<std::vector<StageCost>> moved;
  while (!moved) moved = watch_.Moved(seconds(10));
  EXPECT_THAT(moved->at(1).forward, DoubleNear(0.505, 0.006));
}

}  // namespace
}  // namespace millrace::pipeline
