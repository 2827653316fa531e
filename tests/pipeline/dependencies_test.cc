#include "pipeline/dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/schedules.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

bool Wants(const std::vector<Need>& needs, OperationKind kind, int stage, std::int64_t samples) {
  for (const Need& need : needs) {
    if (need.kind == kind && need.stage == stage && need.samples == samples) return true;
  }
  return false;
}

TEST(DependenciesTest, PartimesBackwardWaitsForItsNewestActivations) {
  const Plan plan = Partime({.stages = 3, .skips = {}});
  const auto needs = NeedsOf(plan, {kBackward, 1, 10, 10});
  EXPECT_TRUE(Wants(needs, kForward, 1, 10 + 4 + 1));
  EXPECT_TRUE(Wants(needs, kBackward, 2, 10 + 1));
}

TEST(DependenciesTest, AForwardWaitsForASlotWhoseReaderIsDone) {
  const Plan plan = OneFOneBStar({.stages = 2, .skips = {}}, {{1, 2, 0}, {1, 2, 0}}, 3);
  const auto needs = NeedsOf(plan, {kForward, 1, 10, 10});
  EXPECT_TRUE(Wants(needs, kForward, 0, 11)) << "its input";
  EXPECT_TRUE(Wants(needs, kForward, 2, 9)) << "the reader of sample 8, two slots before";
  EXPECT_TRUE(Wants(needs, kBackward, 1, 9)) << "the backward that frees sample 8's activations";
}

TEST(DependenciesTest, APortalsGradientComesBackTheSameWay) {
  const Plan plan = Partime({.stages = 4, .skips = {{1, 4}}});
  EXPECT_TRUE(Wants(NeedsOf(plan, {kBackward, 1, 10, 10}), kBackward, 4, 11));
  EXPECT_TRUE(Wants(NeedsOf(plan, {kBackward, 4, 10, 10}), kBackward, 1, 10 + 1 - 7));
}

TEST(DependenciesTest, TheFirstSamplesWaitForNothingThatNeverWas) {
  const Plan plan = Sequential({.stages = 2, .skips = {}});
  EXPECT_TRUE(NeedsOf(plan, {kForward, 0, 0, 0}).empty());
}

TEST(DependenciesTest, StepsSayWhatTheyAre) {
  EXPECT_EQ(ToString({kForward, 2, 17, 17}), "F2(17)");
  EXPECT_EQ(ToString({kUpdate, 1, 4, 7}), "U1(4..7)");
}

}  // namespace
}  // namespace millrace::pipeline
